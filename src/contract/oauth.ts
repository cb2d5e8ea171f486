/** OAuth 2.0 and OpenID Connect in the OpenAPI document, in short: they have their own standards, and discovery. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponsesObject } from 'zod-openapi';

/** RFC 6749 section 5.2 */
const error = z
  .object({ error: z.string(), error_description: z.string().optional() })
  .catchall(z.unknown())
  .meta({ id: 'OAuthError' });
const json = (description: string, schema: z.ZodType = z.object({}).catchall(z.unknown())) => ({
  description,
  content: { 'application/json': { schema } },
});
const refused = (description: string) => json(description, error);
/** HTML for browsers; clients that do not accept HTML get errors as JSON. */
const page = (description: string) => ({
  description,
  content: { 'text/html': { schema: z.string() }, 'application/json': { schema: error } },
});

const unexpected = { 429: refused('Too many requests.'), default: refused('An unexpected error.') };
const ofProgram = {
  400: refused('The request is invalid.'),
  401: refused('The client or the token is invalid.'),
  ...unexpected,
};
const ofBrowser = {
  200: page('A page for the user.'),
  303: { description: 'Redirects the browser to the login page or back to the application.' },
  400: page('The request is invalid.'),
  ...unexpected,
};

const CLIENT = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'];
const GRANT = [
  'grant_type',
  'code',
  'redirect_uri',
  'code_verifier',
  'refresh_token',
  'assertion',
  'device_code',
  'scope',
];
const TOKEN = ['token', 'token_type_hint'];
const AUTHORIZE = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'prompt',
  'login_hint',
  'organization',
  'code_challenge',
  'code_challenge_method',
];
const END_SESSION = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/** All fields are optional here, as the values of some decide which others are required. */
function form(fields: string[]) {
  const schema = z.object(Object.fromEntries(fields.map((field) => [field, z.string().optional()])));
  return { requestBody: { content: { 'application/x-www-form-urlencoded': { schema } } } };
}

function query(names: string[]) {
  return { parameters: names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }) as const) };
}

type Rest = Partial<ZodOpenApiOperationObject>;

function operation(
  operationId: string,
  summary: string,
  answers: ZodOpenApiResponsesObject,
  rest: Rest = {},
): ZodOpenApiOperationObject {
  const responses = {
    ...answers,
    ...(rest.requestBody
      ? { 413: refused('The body is too large.'), 415: refused('The `Content-Encoding` of the body is unknown.') }
      : {}),
  };
  return { operationId, tags: ['OAuth'], summary, security: [], responses, ...rest };
}

const claims = {
  200: json('The claims of the user.'),
  ...ofProgram,
  403: refused('The token does not have the required scope.'),
};
const byToken = { security: [{ oauth2: ['openid'] }] };
const keys = {
  description: 'A JWK set.',
  content: { 'application/jwk-set+json': { schema: z.object({ keys: z.array(z.object({}).catchall(z.unknown())) }) } },
};
const metadata = { 200: json('The metadata of the server.'), ...unexpected };

export const oauthPaths: ZodOpenApiPathsObject = {
  '/.well-known/openid-configuration': {
    get: operation('getDiscovery', 'Get the OpenID Connect discovery document', metadata),
  },
  '/.well-known/oauth-authorization-server': {
    get: operation('getServerMetadata', 'Get the OAuth 2.0 server metadata (RFC 8414)', metadata),
  },
  '/oauth/v2/keys': {
    get: operation('getKeys', 'Get the public keys that verify tokens', { 200: keys, ...unexpected }),
  },
  '/oauth/v2/authorize': {
    get: operation('authorize', 'Start a login (RFC 6749, RFC 7636)', ofBrowser, query(AUTHORIZE)),
    post: operation('postAuthorize', 'Start a login, with a form', ofBrowser, form(AUTHORIZE)),
  },
  '/oauth/v2/token': {
    post: operation(
      'token',
      'Get tokens: authorization code with PKCE, refresh token, client credentials, JWT bearer (RFC 7523)',
      { 200: json('The tokens.'), ...ofProgram },
      form([...GRANT, ...CLIENT]),
    ),
  },
  '/oauth/v2/device_authorization': {
    post: operation(
      'authorizeDevice',
      'Start a login on a device without a browser (RFC 8628)',
      { 200: json('The device code, the user code, and the page where the user enters the user code.'), ...ofProgram },
      form(['scope', ...CLIENT]),
    ),
  },
  '/oauth/v2/introspect': {
    post: operation(
      'introspect',
      'Introspect a token (RFC 7662)',
      { 200: json('Whether the token is active, and its claims.'), ...ofProgram },
      form([...TOKEN, ...CLIENT]),
    ),
  },
  '/oauth/v2/revoke': {
    post: operation(
      'revoke',
      'Revoke a token (RFC 7009)',
      { 200: { description: 'The token is no longer valid.' }, ...ofProgram },
      form([...TOKEN, ...CLIENT]),
    ),
  },
  '/oidc/v1/userinfo': {
    get: operation('getUserInfo', 'Get claims about the user', claims, byToken),
    post: operation('postUserInfo', 'Get claims about the user, with POST', claims, byToken),
  },
  '/oidc/v1/end_session': {
    get: operation('endSession', 'Sign out', ofBrowser, query(END_SESSION)),
    post: operation('postEndSession', 'Sign out, with a form', ofBrowser, form(END_SESSION)),
  },
};
