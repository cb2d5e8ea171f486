import type { Argv } from 'yargs';
import { group, subcommand, YES } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';

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

interface Options2 extends CommonOptions {
  client: string;
  yes: boolean;
}

export const remove = subcommand<Options2>({
  command: 'delete <client>',
  describe: 'delete a client; nobody can log in through it, and its tokens end',
  builder: (parser) =>
    parser
      .positional('client', { type: 'string', demandOption: true, describe: 'client id, as `clients list` shows it' })
      .options({ yes: YES })
      .example('$0 clients delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ client, yes, ...options }) {
    const { out, api } = await openSession(options);
    if (!yes) await confirm(out, `Delete client ${client}? This cannot be undone.`);
    out.result(await api.call('DELETE', `/admin/v1/clients/${encodeURIComponent(client)}`));
    out.line(`Client ${client} is deleted.`);
  },
});

interface Clients {
  result: { clientId: string; name: string; redirectUris: string[]; grantTypes: string[]; authMethod: string }[];
}

export const list = subcommand<CommonOptions>({
  command: 'list',
  describe: 'list the registered clients',
  builder: (parser) => parser.example('$0 clients list', ''),
  async handler(options) {
    const { out, api } = await openSession(options);
    const found = await api.call<Clients>('GET', '/admin/v1/clients');
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map(({ clientId, name, authMethod, grantTypes, redirectUris }) => [
      clientId,
      name,
      authMethod,
      grantTypes.join(' '),
      redirectUris.join(' '),
    ]);
    out.table(['CLIENT ID', 'NAME', 'AUTHENTICATION', 'GRANTS', 'REDIRECT URIS'], rows);
  },
});

/** `muster clients`: the applications that users log in to (IAM_OWNER). */

export const clients = group('clients', 'list, register and delete OAuth clients (IAM_OWNER)', [list, create, remove]);
