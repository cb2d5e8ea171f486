/** Request body to register a client. */
import { z } from 'zod';
import { requiredText } from '../../fields/fields.ts';
import { SCOPES } from '../oauth/scopes.ts';
import { isHttpsLoopback, isPrivateUse, redirectUriProblem } from './redirect-uri.ts';
import { AUTH_METHODS, type AuthMethod, GRANT_TYPES } from './store.ts';

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

function uris() {
  return z
    .array(redirectUri)
    .max(MAX_URIS, `must have at most ${MAX_URIS} entries`)
    .default([])
    .transform((list) => [...new Set(list)]);
}

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

export const newClient = z
  .object({
    name: requiredText(200),
    redirectUris: uris(),
    postLogoutRedirectUris: uris(),
    grantTypes,
    authMethod,
    pkceRequired: z.boolean('must be true or false').default(true),
    scopes,
  })
  .superRefine((client: Together, ctx) => {
    for (const [field, message] of contradictions(client)) ctx.addIssue({ code: 'custom', path: [field], message });
  }, evenIfBad);

function contradictions(client: Together): [field: string, message: string][] {
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
