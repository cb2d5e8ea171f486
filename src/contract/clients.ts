/**
 * OAuth clients: what a registration may contain, and the operations on clients.
 *
 * Redirect URIs follow RFC 6749 section 3.1.2 (absolute, no fragment) and RFC 8252 section 7 (a private-use scheme or a
 * loopback address for native apps); all others are https.
 */
import { errors } from 'oidc-provider';
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { type ClientClaim, claimFields, clientClaims } from './claims.ts';
import { operations } from './operation.ts';
import { API_SCOPE } from './own-clients.ts';
import { IAM_OWNER_ONLY } from './roles.ts';
import { changed, createdDetails, exampleCreated, exampleSearch, searchAnswer } from './shapes.ts';

/** The names of OpenID Connect Dynamic Client Registration 1.0 section 2 (`token_endpoint_auth_method`). */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The grant types of RFC 7591 section 2 (`grant_types`) that a registered client may use. */
export const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials'] as const;

export type GrantType = (typeof GRANT_TYPES)[number];

/** Claims by the scope that includes them; `acr`, `iss` and so on are the library's own. */
export const CLAIMS_BY_SCOPE = {
  // The organization is named without any other scope: all other claims of two users may be equal.
  openid: ['sub', 'auth_time', 'amr', 'urn:service:iam:user:resourceowner:id'],
  profile: [
    ...['name', 'given_name', 'family_name', 'nickname', 'preferred_username', 'locale', 'gender', 'updated_at'],
    ...['picture', 'profile', 'website', 'birthdate', 'zoneinfo'],
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
};

/** The scopes that a client may request (RFC 6749 section 3.3, OpenID Connect Core 1.0 section 5.4). */
export const SCOPES = [...Object.keys(CLAIMS_BY_SCOPE), 'offline_access', API_SCOPE];

/** The scopes of a machine user: it has its own credential, so it needs no refresh tokens. */
export const MACHINE_SCOPES: ReadonlySet<string> = new Set(SCOPES.filter((scope) => scope !== 'offline_access'));
/** The scopes of a registered client that acts for itself: it is not a user, so it has no rights on the API. */
export const CLIENT_SCOPES: ReadonlySet<string> = new Set(Object.keys(CLAIMS_BY_SCOPE));

const MAX_URIS = 50;
const MAX_URI_LENGTH = 2000;

/** Names that published clients send for these methods. */
const ALIASES: Readonly<Record<string, AuthMethod>> = {
  OIDC_AUTH_METHOD_TYPE_NONE: 'none',
  OIDC_AUTH_METHOD_TYPE_BASIC: 'client_secret_basic',
  OIDC_AUTH_METHOD_TYPE_POST: 'client_secret_post',
};

const redirectUri = requiredText(MAX_URI_LENGTH).superRefine((uri, ctx) => {
  const problem = uri === '' ? undefined : redirectUriProblem(uri);
  if (problem) ctx.addIssue({ code: 'custom', message: problem });
});

const uris = z
  .array(redirectUri)
  .max(MAX_URIS, `must have at most ${MAX_URIS} entries`)
  .transform((list) => [...new Set(list)]);

const grantTypes = z
  .array(z.enum(GRANT_TYPES, `must be one of ${GRANT_TYPES.join(', ')}`))
  .min(1, 'must have at least one grant type')
  .max(MAX_URIS, `must have at most ${MAX_URIS} entries`)
  .transform((list) => [...new Set(list)]);

const scopes = z
  .array(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`))
  .min(1, 'must have at least one scope')
  .max(MAX_URIS, `must have at most ${MAX_URIS} entries`)
  .transform((list) => [...new Set(list)])
  .optional()
  .meta({ description: 'The scopes that it may request. Default: every scope.' });

const authMethod = z
  .enum([...AUTH_METHODS, ...Object.keys(ALIASES)], `must be one of ${AUTH_METHODS.join(', ')}`)
  .transform((name) => ALIASES[name] ?? (name as AuthMethod));

/** The fields whose rules depend on each other; any of them may be missing or wrong. */
interface Together {
  redirectUris?: unknown;
  postLogoutRedirectUris?: unknown;
  grantTypes?: unknown;
  authMethod?: unknown;
  pkceRequired?: unknown;
}

/** Checks even if a field is invalid, so that the error names every invalid field. */
const evenIfBad = { when: () => true };

const pkceRequired = z.boolean('must be true or false');

const clientChanges = z
  .object({
    name: requiredText(200).optional(),
    redirectUris: uris.optional(),
    postLogoutRedirectUris: uris.optional(),
    grantTypes: grantTypes.optional(),
    pkceRequired: pkceRequired.optional(),
    scopes,
    ...claimFields,
  })
  .superRefine(oneOfClaims, evenIfBad);

/** Claims are given one by one or by a preset. */
function oneOfClaims(given: { claims?: unknown; claimsPreset?: unknown }, ctx: z.RefinementCtx): void {
  if (given.claims === undefined || given.claimsPreset === undefined) return;
  ctx.addIssue({ code: 'custom', path: ['claimsPreset'], message: 'must not be set together with claims' });
}

export const newClient = z
  .object({
    name: requiredText(200),
    redirectUris: uris.default([]),
    postLogoutRedirectUris: uris.default([]),
    grantTypes,
    authMethod,
    pkceRequired: pkceRequired.default(true),
    scopes,
    ...claimFields,
  })
  .superRefine((client: Together, ctx) => {
    for (const [field, message] of contradictions(client)) ctx.addIssue({ code: 'custom', path: [field], message });
    oneOfClaims(client as { claims?: unknown }, ctx);
  }, evenIfBad);

const client = z
  .object({
    clientId: z.string(),
    name: z.string(),
    redirectUris: z.array(z.string()),
    postLogoutRedirectUris: z.array(z.string()),
    grantTypes: z.array(z.enum(GRANT_TYPES)),
    authMethod: z.enum(AUTH_METHODS),
    pkceRequired: z.boolean(),
    scopes: z.array(z.string()).optional().meta({ description: 'Absent: it may request every scope.' }),
    claims: clientClaims,
    accessTokenType: z.enum(['opaque', 'jwt']),
    details: createdDetails,
  })
  .meta({ id: 'Client' });

const exampleClient = {
  name: 'Portal',
  redirectUris: ['https://portal.acme.example/callback'],
  postLogoutRedirectUris: ['https://portal.acme.example/'],
  grantTypes: ['authorization_code', 'refresh_token'],
  authMethod: 'client_secret_basic',
};
const exampleClaim: ClientClaim = { claim: 'department', from: 'metadata.department', in: ['id_token', 'userinfo'] };
const clientId = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const exampleDetails = { ...exampleCreated, resourceOwner: 'instance' };

export const clientOperations = operations({
  addClient: {
    path: 'POST /admin/v1/clients',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Register an OAuth client',
    description:
      'The client secret is shown only once, in this response. A client with `authMethod` `none` gets no secret. With `pkceRequired` `false`, a client with a secret may leave out PKCE; set it only if the application does not support PKCE. With `scopes`, a request of the client with another scope is refused with `invalid_scope`.',
    body: {
      schema: newClient,
      error: 'CLIENT-INVALID',
      examples: {
        'web application': exampleClient,
        'native application': {
          name: 'Command line',
          redirectUris: ['http://127.0.0.1/callback'],
          grantTypes: ['authorization_code'],
          authMethod: 'none',
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ clientId: z.string(), clientSecret: z.string().optional(), details: createdDetails }),
        example: { clientId, clientSecret: 'bm90IGEgc2VjcmV0IG9mIGFueWJvZHk', details: exampleDetails },
      },
    },
  },
  listClients: {
    path: 'GET /admin/v1/clients',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'List the OAuth clients',
    answers: {
      200: {
        schema: searchAnswer(client),
        example: exampleSearch({
          clientId,
          ...exampleClient,
          pkceRequired: true,
          claims: [exampleClaim],
          accessTokenType: 'opaque',
          details: exampleDetails,
        }),
      },
    },
  },
  updateClient: {
    path: 'PATCH /admin/v1/clients/{clientId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Change an OAuth client',
    description:
      'Fields that are left out stay. Claims of the client apply to the next token, and at once to userinfo and introspection. `claimsPreset` sets the claims that tokens of another system have.',
    body: {
      schema: clientChanges,
      error: 'CLIENT-INVALID',
      examples: {
        preset: { claimsPreset: 'keycloak' },
        claims: { claims: [exampleClaim] },
        addresses: { redirectUris: ['https://portal.acme.example/callback', 'https://new.acme.example/callback'] },
      },
    },
    answers: { 200: changed },
    errors: ['CLIENT-NOT-FOUND'],
  },
  removeClient: {
    path: 'DELETE /admin/v1/clients/{clientId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Remove an OAuth client',
    answers: { 200: changed },
    errors: ['CLIENT-NOT-FOUND'],
  },
});

/** What is wrong with fields together, by field. */
export function contradictions(client: Together): [field: string, message: string][] {
  const grants = listOf(client.grantTypes);
  const redirects = listOf(client.redirectUris);
  const found: [string, string][] = [];
  if (grants.includes('authorization_code') && Array.isArray(client.redirectUris) && redirects.length === 0) {
    found.push(['redirectUris', 'must not be empty with the grant type authorization_code']);
  }
  if (grants.includes('refresh_token') && !grants.includes('authorization_code')) {
    found.push(['grantTypes', 'must include authorization_code if it includes refresh_token']);
  }
  if (grants.includes('client_credentials') && client.authMethod === 'none') {
    found.push(['grantTypes', 'must not include client_credentials if authMethod is none']);
  }
  if (client.pkceRequired === false && client.authMethod === 'none') {
    found.push(['pkceRequired', 'must be true if authMethod is none']);
  }
  const all = [...redirects, ...listOf(client.postLogoutRedirectUris)];
  if (all.some(isPrivateUse) && all.some(isHttpsLoopback)) {
    found.push(['redirectUris', 'must not mix a private-use scheme with https on a loopback address']);
  }
  return found;
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Characters of RFC 3986. A URL parser accepts others and repairs them, but registered URIs are compared unchanged. */
const URI = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
/** RFC 8252 section 7.1: the scheme is a domain name under the owner's control, in reverse order. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/i;
const WEB = /^https?:\/\//i;

/** What is wrong with a redirect URI; undefined if it is valid. */
export function redirectUriProblem(uri: string): string | undefined {
  const parsed = URI.test(uri) ? URL.parse(uri) : null;
  if (!parsed || !(WEB.test(uri) || PRIVATE_USE.test(uri))) {
    return 'must be an absolute URI such as https://app.example.com/callback or com.example.app:/callback';
  }
  if (uri.includes('#')) return 'must not have a fragment';
  if (parsed.username !== '' || parsed.password !== '') return 'must not contain a user name or a password';
  if (parsed.protocol === 'http:' && !LOOPBACK_HOSTS.has(parsed.hostname)) {
    return 'must be https, unless it is on localhost, 127.0.0.1 or [::1]';
  }
  return undefined;
}

/** Whether the URI belongs to a native app: only native apps have private-use schemes. */
export function isPrivateUse(uri: string): boolean {
  return PRIVATE_USE.test(uri);
}

/** The origin of the pages at this URI (`https://app.example.com`); undefined for the URI of a native app. */
export function webOrigin(uri: string): string | undefined {
  return WEB.test(uri) ? URL.parse(uri)?.origin : undefined;
}

/** Whether the URI is https on this machine. Native apps may not use it, as they have no certificate of their own. */
export function isHttpsLoopback(uri: string): boolean {
  const parsed = URL.parse(uri);
  return parsed?.protocol === 'https:' && LOOPBACK_HOSTS.has(parsed.hostname);
}

/**
 * `application_type` of OpenID Connect Dynamic Client Registration 1.0: `native` if a URI has a private-use scheme, or
 * if all redirect URIs are http on loopback, where any port is then allowed (RFC 8252 section 7.3). Else `web`.
 * Both lists must have passed `redirectUriProblem`.
 */
export function applicationType(redirectUris: string[], postLogoutRedirectUris: string[]): 'web' | 'native' {
  if ([...redirectUris, ...postLogoutRedirectUris].some(isPrivateUse)) return 'native';
  const http = redirectUris.filter((uri) => URL.parse(uri)?.protocol === 'http:');
  const https = [...redirectUris, ...postLogoutRedirectUris].some(isHttpsLoopback);
  return redirectUris.length > 0 && http.length === redirectUris.length && !https ? 'native' : 'web';
}

/**
 * Whether any program on the user's device can receive what is sent to the URI (RFC 8252 section 8.6): a private-use
 * scheme, or http on loopback without a port, as native apps register it. With a port it is a developer's web
 * application.
 */
export function isClaimable(uri: string): boolean {
  if (isPrivateUse(uri)) return true;
  const parsed = URL.parse(uri);
  return parsed?.protocol === 'http:' && parsed.port === '' && LOOPBACK_HOSTS.has(parsed.hostname);
}

/** The name of the same scope in ZITADEL, which existing applications request. */
const API_SCOPE_ALIAS = 'urn:zitadel:iam:org:project:id:zitadel:aud';

/** The value of a `scope` parameter with `API_SCOPE` instead of its alias. */
export function withoutAlias(scope: string): string {
  return scope
    .split(' ')
    .map((one) => (one === API_SCOPE_ALIAS ? API_SCOPE : one))
    .join(' ');
}

/**
 * Refuses a request without a scope that we know (RFC 6749 section 3.3), which the library would do after the login.
 * @param scope the parameter, without an alias
 * @throws OIDCProviderError `invalid_scope`
 */
export function requireKnownScope(scope: unknown): void {
  if (typeof scope === 'string' && scope.split(' ').some((one) => SCOPES.includes(one))) return;
  throw new errors.InvalidScope(`scope must contain at least one of ${SCOPES.join(', ')}`, '');
}
