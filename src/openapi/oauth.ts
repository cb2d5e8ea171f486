/** OAuth 2.0 and OpenID Connect in the OpenAPI document, in short: they have documents of their own, and discovery. */
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
/** For whoever asks for HTML; programs get the error as JSON. */
const page = (description: string) => ({
  description,
  content: { 'text/html': { schema: z.string() }, 'application/json': { schema: error } },
});

const unexpected = { 429: refused('Too many requests.'), default: refused('Any other status is an unexpected error.') };
const ofProgram = {
  400: refused('The request is refused.'),
  401: refused('The client or the token is not valid.'),
  ...unexpected,
};
const ofBrowser = {
  200: page('A page for people.'),
  303: { description: 'The browser goes on: to the login, or back to the application.' },
  400: page('The request is refused.'),
  ...unexpected,
};

const CLIENT = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'];
const GRANT = [
  ...['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'assertion', 'device_code', 'scope'],
];
const TOKEN = ['token', 'token_type_hint'];
const AUTHORIZE = [
  ...['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'nonce', 'prompt', 'login_hint'],
  ...['code_challenge', 'code_challenge_method'],
];
const END_SESSION = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/** Which of the fields are needed depends on the values of others. */
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
  responses: ZodOpenApiResponsesObject,
  rest: Rest = {},
): ZodOpenApiOperationObject {
  return { operationId, tags: ['OAuth'], summary, security: [], responses, ...rest };
}

const claims = { 200: json('The claims.'), ...ofProgram, 403: refused('The token has not the scope.') };
const byToken = { security: [{ oauth2: ['openid'] }] };
const keys = {
  description: 'A JWK set.',
  content: { 'application/jwk-set+json': { schema: z.object({ keys: z.array(z.object({}).catchall(z.unknown())) }) } },
};
const metadata = { 200: json('The metadata.'), ...unexpected };

export const oauthPaths: ZodOpenApiPathsObject = {
  '/.well-known/openid-configuration': { get: operation('getDiscovery', 'OpenID Connect discovery', metadata) },
  '/.well-known/oauth-authorization-server': {
    get: operation('getServerMetadata', 'The same (RFC 8414)', metadata),
  },
  '/oauth/v2/keys': { get: operation('getKeys', 'Public keys of tokens', { 200: keys, ...unexpected }) },
  '/oauth/v2/authorize': {
    get: operation('authorize', 'Begin a login (RFC 6749, RFC 7636)', ofBrowser, query(AUTHORIZE)),
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
      'Begin a login on a device without a browser (RFC 8628)',
      { 200: json('The codes, and the page on which a person types one of them.'), ...ofProgram },
      form(['scope', ...CLIENT]),
    ),
  },
  '/oauth/v2/introspect': {
    post: operation(
      'introspect',
      'Look at a token (RFC 7662)',
      { 200: json('Whether it is active, and what it is.'), ...ofProgram },
      form([...TOKEN, ...CLIENT]),
    ),
  },
  '/oauth/v2/revoke': {
    post: operation(
      'revoke',
      'Revoke a token (RFC 7009)',
      { 200: { description: 'It is not valid any more.' }, ...ofProgram },
      form([...TOKEN, ...CLIENT]),
    ),
  },
  '/oidc/v1/userinfo': {
    get: operation('getUserInfo', 'Who the user is', claims, byToken),
    post: operation('postUserInfo', 'Who the user is', claims, byToken),
  },
  '/oidc/v1/end_session': { get: operation('endSession', 'Sign out', ofBrowser, query(END_SESSION)) },
};
