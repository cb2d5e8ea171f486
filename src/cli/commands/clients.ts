/** `muster clients`: the applications that users log in to (IAM_OWNER). */
import { command, deleteCommand, group, listCommand } from '../command.ts';
import { argument, text, YES } from '../options.ts';
import { wrongUsage } from '../terminal/failure.ts';

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

const PLACES = ['id_token', 'userinfo', 'introspection', 'access_token'] as const;

const update = command({
  usage: 'update <client>',
  describe: 'change a client; what is not named stays',
  options: {
    client: argument('client id, as `clients list` shows it'),
    name: text('name that users see when they log in'),
    'redirect-uri': { ...text('where users return after they log in; replaces all'), array: true },
    'post-logout-redirect-uri': { ...text('where users return after they log out; replaces all'), array: true },
    scope: { ...text('scopes that it may request'), array: true },
    claims: {
      ...text('claims that tokens of this system have, from what its users bring'),
      choices: ['keycloak', 'auth0', 'cognito', 'firebase', 'supabase', 'none'],
    },
    'claims-namespace': text('URL that begins the names of --claims auth0; default: the address of the service'),
    claim: { ...text('NAME=FROM, such as department=metadata.department; replaces all claims'), array: true },
    in: { ...text('where the claims of --claim are given; default: everywhere'), choices: PLACES, array: true },
    'access-token': { ...text('form of the access tokens of its users'), choices: ['opaque', 'jwt'] },
  },
  examples: [
    ['$0 clients update 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --claims keycloak', 'roles as Keycloak gives them'],
    ['$0 clients update 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --claim dep=metadata.department --in id_token', ''],
  ],
  async run({ out, api }, { client: clientId, name, redirectUri, postLogoutRedirectUri, scope, ...given }) {
    const body = {
      name,
      redirectUris: redirectUri,
      postLogoutRedirectUris: postLogoutRedirectUri,
      scopes: scope,
      claims: given.claims === 'none' ? [] : given.claim?.map((one) => claimOf(one, given.in)),
      claimsPreset: given.claims === 'none' ? undefined : given.claims,
      claimsNamespace: given.claimsNamespace,
      accessTokenType: given.accessToken,
    };
    out.result(await api.call('updateClient', { clientId }, { body }));
    out.line(`Client ${clientId} is changed.`);
  },
});

/** @throws Failure when it is not a name and a source */
function claimOf(text: string, places: readonly (typeof PLACES)[number][] | undefined) {
  const at = text.indexOf('=');
  if (at < 1) throw wrongUsage(`--claim must be NAME=FROM, such as department=metadata.department, not "${text}".`);
  return { claim: text.slice(0, at), from: text.slice(at + 1), ...(places ? { in: [...places] } : {}) };
}

const remove = deleteCommand({
  what: 'client',
  describe: 'delete a client; nobody can log in through it, and its tokens end',
  options: { client: argument('client id, as `clients list` shows it'), yes: YES },
  examples: [['$0 clients delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation']],
  target: async (api, { client }) => ({ id: client, remove: () => api.call('removeClient', { clientId: client }) }),
});

export const clients = group('clients', 'list, register, change and delete OAuth clients (IAM_OWNER)', [
  list,
  create,
  update,
  remove,
]);
