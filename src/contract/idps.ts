/**
 * External identity providers of an organization and of the instance: their settings, and the operations on them. What
 * a body leaves out, the preset of its type says (idp-presets.ts).
 */
import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { domainName } from './domain-name.ts';
import { aliasKey, IDP_FIELDS, IDP_TYPES, type IdpEndpoints, type IdpFields } from './idp-presets.ts';
import { operations } from './operation.ts';
import { OUTLINE } from './outline.ts';
import { LINKING_RULES, type LinkingRule } from './policies.ts';
import { IAM_OWNER_ONLY, OWNER } from './roles.ts';
import {
  changed,
  createdDetails,
  exampleCreated,
  exampleDetails,
  exampleSearch,
  searchAnswer,
  webhookUrl,
} from './shapes.ts';

/** The settings of a provider that may be shown. */
export interface IdpSettings {
  /** Of a provider with discovery; the others have `endpoints`. */
  issuer?: string;
  endpoints?: IdpEndpoints;
  clientId: string;
  scopes: string[];
  /** The names under which imported links know it. */
  aliases: string[];
  /** The claim, or the field of `userInfo`, with the id that links are compared with. */
  subject: string;
  /** Which claims or fields have the other facts, where they are not those of OpenID Connect. */
  fields?: IdpFields;
  /** Further paths on which it answers; the first one is the redirect URI. */
  callbackPaths: string[];
  /** Domains of addresses whose users are led straight there. */
  domains: string[];
  /** Microsoft: the tenants whose users may come; empty: all. */
  tenants: string[];
  /** Whether its word about an address may link a user. */
  trustsAddresses: boolean;
  /** Domains of addresses for which it may create users. */
  createDomains: string[];
  /** Absent: as the login policy says. */
  linking?: LinkingRule;
  isEnabled: boolean;
  clientAuth?: 'post' | 'basic';
  /** Apple: who signs the client secret. */
  apple?: { teamId: string; keyId: string };
}

/** What a check of a provider looks at. */
export const IDP_CHECKS = ['discovery', 'keys', 'authorization', 'credentials', 'callbackPaths', 'links'] as const;

/** What is stored encrypted and never answered. */
export interface IdpSecrets {
  clientSecret?: string | undefined;
  /** Apple: the key that signs the client secret, in PEM. */
  privateKey?: string | undefined;
}

const MOST_LISTED = 50;
/** RFC 6749 section 3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const TENANT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A list in which each element counts once. */
function list<T extends z.ZodType<string>>(element: T, key: (text: string) => string = (text) => text) {
  return z
    .array(element)
    .max(MOST_LISTED, `must have at most ${MOST_LISTED} entries`)
    .transform((given) => [...new Map([...given].reverse().map((one) => [key(one), one])).values()].reverse());
}

const bool = () => z.boolean('must be true or false');
const secret = (most: number) => requiredText(most).meta({ format: 'password', writeOnly: true });

const issuer = webhookUrl().refine((url) => !url.includes('?'), 'must not contain a query');
const domain = domainName().refine((name) => name !== '', 'must not be empty');

const endpoints = z.object({
  authorization: webhookUrl(),
  token: webhookUrl(),
  userInfo: webhookUrl(),
  emails: webhookUrl().optional(),
});

const field = requiredText(200).optional();
const fields = z.object(
  Object.fromEntries(IDP_FIELDS.map((name) => [name, field])) as Record<(typeof IDP_FIELDS)[number], typeof field>,
);

const given = {
  issuer: issuer.optional().meta({ description: 'Where its discovery document is. Most presets bring theirs.' }),
  endpoints: endpoints.optional().meta({ description: 'Of a provider without discovery; all of them together.' }),
  clientSecret: secret(2000).optional(),
  privateKey: secret(10_000)
    .refine(isSigningKey, 'must be a private key for ES256 in PEM')
    .optional()
    .meta({ description: 'Apple: the key that signs the client secret, as the file .p8 has it.' }),
  apple: z.object({ teamId: requiredText(100), keyId: requiredText(100) }).optional(),
  scopes: list(requiredText(200).regex(SCOPE_TOKEN, 'must be a scope without spaces')).optional(),
  aliases: list(requiredText(200), aliasKey).optional().meta({
    description:
      'The names under which imported links know the provider. Default: those of its preset, such as `google-oauth2`.',
  }),
  subject: requiredText(200).optional().meta({
    description: 'The claim or field with the id of a person: `sub`, `oid` (with the tenant), `id`, or an attribute.',
  }),
  fields: fields.optional(),
  callbackPaths: list(requiredText(200).superRefine(callbackPath))
    .optional()
    .meta({
      description:
        'Paths of the old system on which the provider answers, such as `/login/callback`. The first one is the redirect ' +
        'URI; without any it is `/ui/idps/{idpId}/callback`.',
    }),
  domains: list(domain).optional().meta({
    description: 'Users who type an address of these domains are led straight to the provider.',
  }),
  tenants: list(requiredText(36).regex(TENANT, 'must be the id of a tenant'))
    .optional()
    .meta({ description: 'Microsoft: the tenants whose users may sign in. Default: all.' }),
  trustsAddresses: bool().optional().meta({
    description: 'Whether an address that the provider calls verified may link a user (`verifiedAddress`).',
  }),
  createDomains: list(domain).optional().meta({ description: 'Domains for which `create` may create users.' }),
  linking: z
    .enum([...LINKING_RULES, 'policy'], `must be one of ${[...LINKING_RULES, 'policy'].join(', ')}`)
    .optional()
    .meta({
      description:
        'Overrides `linking` of the login policy; `policy` does not. For a provider of the instance, `verifiedAddress` ' +
        'and `create` count only where the policy of the organization says as much.',
    }),
  isEnabled: bool().optional(),
  clientAuth: z.enum(['post', 'basic'], 'must be post or basic').optional().meta({
    description: 'How the client secret is sent. Default: as the provider says.',
  }),
};

const type = z.enum(IDP_TYPES, `must be one of ${IDP_TYPES.join(', ')}`);

/** The body of `POST /management/v1/idps`. */
export const newIdp = z.object({ type, name: requiredText(200).optional(), clientId: requiredText(500), ...given });
export type NewIdp = z.output<typeof newIdp>;

/** The body of `PATCH /management/v1/idps/{idpId}`. */
export const changedIdp = z.object({
  type: type.optional().meta({ description: 'Cannot change.' }),
  name: requiredText(200).optional(),
  clientId: requiredText(500).optional(),
  ...given,
});
export type ChangedIdp = z.output<typeof changedIdp>;

const strings = z.array(z.string());
const sameId = z.string().meta({ description: '`idpId`, under the name that ZITADEL gives it.' });

const idp = z
  .object({
    idpId: z.string(),
    id: sameId,
    type: z.enum(IDP_TYPES),
    name: z.string(),
    issuer: z.string().optional(),
    endpoints: z
      .object({ authorization: z.string(), token: z.string(), userInfo: z.string(), emails: z.string().optional() })
      .optional(),
    clientId: z.string(),
    hasSecret: z.boolean().meta({ description: 'Whether a client secret, or the key that signs it, is stored.' }),
    redirectUri: z.string().meta({ description: 'What to register at the provider.' }),
    scopes: strings,
    aliases: strings,
    subject: z.string(),
    fields: z.record(z.string(), z.string().optional()).optional(),
    callbackPaths: strings,
    domains: strings,
    tenants: strings,
    trustsAddresses: z.boolean(),
    createDomains: strings,
    linking: z.enum(LINKING_RULES).optional().meta({ description: 'Absent: as the login policy says.' }),
    isEnabled: z.boolean(),
    clientAuth: z.enum(['post', 'basic']).optional(),
    apple: z.object({ teamId: z.string(), keyId: z.string() }).optional(),
    details: createdDetails,
  })
  .meta({ id: 'IdentityProvider' });

const idpId = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const ofInstance = { ...exampleCreated, resourceOwner: 'instance' };
const exampleIdp = {
  idpId,
  id: idpId,
  type: 'google',
  name: 'Google',
  issuer: 'https://accounts.google.com',
  clientId: '407408718192.apps.googleusercontent.example',
  hasSecret: true,
  redirectUri: 'https://login.acme.example/login/callback',
  scopes: ['openid', 'profile', 'email'],
  aliases: ['google-oauth2'],
  subject: 'sub',
  callbackPaths: ['/login/callback'],
  domains: [],
  tenants: [],
  trustsAddresses: false,
  createDomains: [],
  isEnabled: true,
  details: exampleCreated,
};

const secretExample = { clientSecret: 'not a secret of anybody' };
const NEW = {
  schema: newIdp,
  error: 'IDP-INVALID',
  examples: {
    Google: {
      type: 'google',
      clientId: exampleIdp.clientId,
      ...secretExample,
      callbackPaths: ['/login/callback'],
    },
    'a company': {
      type: 'oidc',
      name: 'Acme',
      issuer: 'https://sso.acme.example/realms/acme',
      clientId: 'muster',
      ...secretExample,
      aliases: ['acme-oidc'],
      domains: ['acme.example'],
    },
  },
} as const;
const CHANGES = {
  schema: changedIdp,
  error: 'IDP-INVALID',
  examples: {
    'another alias': { aliases: ['acme-oidc', 'sso:acme'] },
    off: { isEnabled: false },
  },
} as const;
const ADDED = z.object({ idpId: z.string(), id: sameId, details: createdDetails });
const ONE = z.object({ idp });
const ALL = searchAnswer(idp);
const ABOUT_NEW =
  'Users whose imported links name it, by its id or one of its aliases, sign in with it. The secrets are stored ' +
  'encrypted and never returned. What the body leaves out, the preset of the type says; aliases of the preset that ' +
  'another provider of the same owner has are left out.';
const ABOUT_CHANGE =
  'Fields that are left out stay, and so do the secrets, unless the issuer or an endpoint changes: a stored secret is ' +
  'never sent to another address. `endpoints` are replaced together.';
const ABOUT_REMOVAL = 'Its users keep their links, which sign nobody in until another provider has their names.';

const CHECKED = z.object({
  isUsable: z.boolean().meta({ description: 'Whether nothing is known that keeps people from signing in with it.' }),
  checks: z.array(
    z.object({
      name: z.enum(IDP_CHECKS),
      ok: z.boolean(),
      message: z.string().meta({ description: 'What was found, and what to do about it.' }),
    }),
  ),
});
const CHECK_ANSWER = {
  schema: CHECKED,
  example: {
    isUsable: false,
    checks: [
      { name: 'discovery', ok: true, message: 'The provider describes itself as https://accounts.google.com.' },
      { name: 'credentials', ok: false, message: 'The provider does not accept the client secret (invalid_client).' },
    ],
  },
} as const;
const ABOUT_CHECK =
  'Asks the provider for its metadata and keys, tries the client id and the redirect URI, and redeems a code that does ' +
  'not exist, which the provider answers differently for a right and a wrong secret. Nobody signs in. It also says ' +
  'whether links of users clash, and whether another provider has the same callback path.';

export const idpOperations = operations({
  addIdp: {
    path: 'POST /management/v1/idps',
    who: OWNER,
    of: 'org',
    summary: 'Add an identity provider to the organization',
    description: `${ABOUT_NEW} It signs in users of the organization only, and nobody with more rights than who set it last.`,
    body: NEW,
    answers: { 200: { schema: ADDED, example: { idpId, id: idpId, details: exampleCreated } } },
    errors: ['IDP-ALIAS-TAKEN', 'IDPS-FULL', 'ORG-STATE'],
  },
  listIdps: {
    path: 'GET /management/v1/idps',
    who: OWNER,
    of: 'org',
    summary: 'List the identity providers of an organization',
    answers: { 200: { schema: ALL, example: exampleSearch(exampleIdp) } },
  },
  getIdp: {
    path: 'GET /management/v1/idps/{idpId}',
    who: OWNER,
    of: 'idp',
    summary: 'Get an identity provider of an organization',
    answers: { 200: { schema: ONE, example: { idp: exampleIdp } } },
  },
  checkIdp: {
    path: 'GET /management/v1/idps/{idpId}/_check',
    who: OWNER,
    of: 'idp',
    summary: 'Check an identity provider of an organization',
    description: ABOUT_CHECK,
    answers: { 200: CHECK_ANSWER },
    errors: ['RATE-LIMIT'],
  },
  changeIdp: {
    path: 'PATCH /management/v1/idps/{idpId}',
    who: OWNER,
    of: 'idp',
    summary: 'Change an identity provider of an organization',
    description: ABOUT_CHANGE,
    body: CHANGES,
    answers: { 200: changed },
    errors: ['IDP-ALIAS-TAKEN', 'ORG-STATE'],
  },
  removeIdp: {
    path: 'DELETE /management/v1/idps/{idpId}',
    who: OWNER,
    of: 'idp',
    summary: 'Remove an identity provider of an organization',
    description: ABOUT_REMOVAL,
    answers: { 200: changed },
    errors: ['ORG-STATE'],
  },
  addInstanceIdp: {
    path: 'POST /admin/v1/idps',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Add an identity provider to the instance',
    description: `${ABOUT_NEW} It signs in users of every organization.`,
    body: NEW,
    answers: { 200: { schema: ADDED, example: { idpId, id: idpId, details: ofInstance } } },
    errors: ['IDP-ALIAS-TAKEN', 'IDPS-FULL'],
  },
  listInstanceIdps: {
    path: 'GET /admin/v1/idps',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'List the identity providers of the instance',
    answers: { 200: { schema: ALL, example: exampleSearch({ ...exampleIdp, details: ofInstance }) } },
  },
  getInstanceIdp: {
    path: 'GET /admin/v1/idps/{idpId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Get an identity provider of the instance',
    answers: { 200: { schema: ONE, example: { idp: { ...exampleIdp, details: ofInstance } } } },
    errors: ['IDP-NOT-FOUND'],
  },
  checkInstanceIdp: {
    path: 'GET /admin/v1/idps/{idpId}/_check',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Check an identity provider of the instance',
    description: ABOUT_CHECK,
    answers: { 200: CHECK_ANSWER },
    errors: ['IDP-NOT-FOUND', 'RATE-LIMIT'],
  },
  changeInstanceIdp: {
    path: 'PATCH /admin/v1/idps/{idpId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Change an identity provider of the instance',
    description: ABOUT_CHANGE,
    body: CHANGES,
    answers: { 200: { ...changed, example: { details: { ...exampleDetails, resourceOwner: 'instance' } } } },
    errors: ['IDP-NOT-FOUND', 'IDP-ALIAS-TAKEN'],
  },
  removeInstanceIdp: {
    path: 'DELETE /admin/v1/idps/{idpId}',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Remove an identity provider of the instance',
    description: ABOUT_REMOVAL,
    answers: { 200: { ...changed, example: { details: { ...exampleDetails, resourceOwner: 'instance' } } } },
    errors: ['IDP-NOT-FOUND'],
  },
});

/** Whether the text is a key that Apple's client secrets are signed with: EC on P-256, as RFC 7518 says of ES256. */
function isSigningKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

function callbackPath(path: string, ctx: z.RefinementCtx): void {
  const problem = path === '' ? undefined : callbackPathProblem(path);
  if (problem) ctx.addIssue({ code: 'custom', message: problem });
}

/** Characters of a path (RFC 3986 section 3.3), percent-encoded ones included; authentik's and Django's end with a slash. */
const PATH = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+)+\/?$/;
/** What begins our own paths. */
const OWN = /^\/(?:account|ui|console|docs|oauth|oidc|\.well-known|v2|v2beta|management|admin|zitadel\.[^/]*)(?:\/|$)/i;
const OWN_PAGES = /^\/(?:healthz|readyz|metrics|openapi\.json|favicon\.ico)$/i;
/** ZITADEL's own, below `/ui`, where no page of ours is. */
const OTHERS = '/ui/login/login/externalidp/callback';

/** What is wrong with a path on which a provider answers; undefined if it is valid, and none of our own. */
export function callbackPathProblem(path: string): string | undefined {
  if (!PATH.test(path) || new URL(path, 'https://a.example').pathname !== path) {
    return 'must be a path such as /login/callback, without a query';
  }
  if (path === OTHERS) return undefined;
  // Our own routes answer with a slash at the end, too.
  const bare = path.replace(/\/$/, '');
  const isOurs = OWN.test(bare) || OWN_PAGES.test(bare) || Object.values(OUTLINE).some((own) => isAt(bare, own.path));
  return isOurs ? 'must not be a path of this service' : undefined;
}

/** @param pattern `GET /management/v1/idps/{idpId}` */
function isAt(path: string, pattern: string): boolean {
  const segments = path.toLowerCase().split('/');
  const own = (pattern.split(' ')[1] ?? '').toLowerCase().split('/');
  return own.length === segments.length && own.every((part, i) => part.startsWith('{') || part === segments[i]);
}
