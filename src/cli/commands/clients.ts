/** `muster clients`: the applications that users log in to (IAM_OWNER). */
import { command, deleteCommand, group, listCommand } from '../command.ts';
import { argument, text, YES } from '../options.ts';

const list = listCommand({
  describe: 'list the registered clients',
  examples: [['$0 clients list', '']],
  read: (api) => api.call('listClients'),
  columns: ['CLIENT ID', 'NAME', 'AUTHENTICATION', 'GRANTS', 'REDIRECT URIS'],
  row: ({ clientId, name, authMethod, grantTypes, redirectUris }) => [
    clientId,
    name,
    authMethod,
    grantTypes.join(' '),
    redirectUris.join(' '),
  ],
});

const create = command({
  usage: 'create <name>',
  describe: 'register an application',
  options: {
    name: argument('name that users see when they log in'),
    'redirect-uri': { ...text('where users return after they log in'), array: true },
    'post-logout-redirect-uri': { ...text('where users return after they log out'), array: true },
    grant: {
      ...text('grant types that it may use'),
      choices: ['authorization_code', 'refresh_token', 'client_credentials'],
      array: true,
      default: ['authorization_code', 'refresh_token'],
    },
    auth: {
      ...text('how it authenticates; `none` for an app that cannot keep a secret, in a browser or on a phone'),
      choices: ['none', 'client_secret_basic', 'client_secret_post'],
      default: 'client_secret_basic',
    },
    pkce: {
      type: 'boolean',
      default: true,
      describe: '--no-pkce for an application with a secret that does not support PKCE',
    },
    scope: { ...text('scopes that it may request; default: every scope'), array: true },
  },
  examples: [
    ["$0 clients create 'Shop' --redirect-uri https://shop.example.com/callback", 'a web application'],
    ["$0 clients create 'App' --redirect-uri com.example.app:/callback --auth none", 'on a phone'],
  ],
  async run({ out, api }, { name, redirectUri, postLogoutRedirectUri, grant, auth, pkce, scope }) {
    const body = {
      name,
      redirectUris: redirectUri ?? [],
      postLogoutRedirectUris: postLogoutRedirectUri ?? [],
      grantTypes: [...grant],
      authMethod: auth,
      pkceRequired: pkce,
      scopes: scope,
    };
    const { clientId, clientSecret, ...rest } = await api.call('addClient', { body });
    out.result({ clientId, clientSecret, ...rest });
    out.line(`client id      ${clientId}`);
    if (!clientSecret) return;
    out.line(`client secret  ${clientSecret}`);
    if (!out.json) out.note('The secret is shown only once.');
  },
});

const remove = deleteCommand({
  what: 'client',
  describe: 'delete a client; nobody can log in through it, and its tokens end',
  options: { client: argument('client id, as `clients list` shows it'), yes: YES },
  examples: [['$0 clients delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation']],
  target: async (api, { client }) => ({ id: client, remove: () => api.call('removeClient', { clientId: client }) }),
});

export const clients = group('clients', 'list, register and delete OAuth clients (IAM_OWNER)', [list, create, remove]);
