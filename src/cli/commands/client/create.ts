import type { Argv } from 'yargs';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  name: string;
  redirectUri?: string[] | undefined;
  postLogoutRedirectUri?: string[] | undefined;
  grant: string[];
  auth: string;
  pkce: boolean;
  scope?: string[] | undefined;
}

interface Created {
  clientId: string;
  clientSecret?: string;
}

const GRANTS = ['authorization_code', 'refresh_token', 'client_credentials'];

export const create = subcommand<Options>({
  command: 'create <name>',
  describe: 'register an application',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('name', { type: 'string', demandOption: true, describe: 'name that users see when they log in' })
      .options({
        'redirect-uri': {
          type: 'string',
          array: true,
          requiresArg: true,
          describe: 'where users return after they log in',
        },
        'post-logout-redirect-uri': {
          type: 'string',
          array: true,
          requiresArg: true,
          describe: 'where users return after they log out',
        },
        grant: {
          type: 'string',
          choices: GRANTS,
          array: true,
          requiresArg: true,
          default: ['authorization_code', 'refresh_token'],
          describe: 'grant types that it may use',
        },
        auth: {
          type: 'string',
          choices: ['none', 'client_secret_basic', 'client_secret_post'],
          requiresArg: true,
          default: 'client_secret_basic',
          describe: 'how it authenticates; `none` for an app that cannot keep a secret, in a browser or on a phone',
        },
        pkce: {
          type: 'boolean',
          default: true,
          describe: '--no-pkce for an application with a secret that does not support PKCE',
        },
        scope: {
          type: 'string',
          array: true,
          requiresArg: true,
          describe: 'scopes that it may request; default: every scope',
        },
      })
      .example("$0 clients create 'Shop' --redirect-uri https://shop.example.com/callback", 'a web application')
      .example("$0 clients create 'App' --redirect-uri com.example.app:/callback --auth none", 'on a phone'),
  async handler({ name, redirectUri, postLogoutRedirectUri, grant, auth, pkce, scope, ...options }) {
    const { out, api } = await openSession(options);
    const body = {
      name,
      redirectUris: redirectUri ?? [],
      postLogoutRedirectUris: postLogoutRedirectUri ?? [],
      grantTypes: grant,
      authMethod: auth,
      pkceRequired: pkce,
      ...(scope ? { scopes: scope } : {}),
    };
    const { clientId, clientSecret, ...rest } = await api.call<Created>('POST', '/admin/v1/clients', { body });
    out.result({ clientId, clientSecret, ...rest });
    out.line(`client id      ${clientId}`);
    if (!clientSecret) return;
    out.line(`client secret  ${clientSecret}`);
    if (!out.json) out.note('The secret is shown only once.');
  },
});
