/**
 * The claims that a client reads beside the standard ones: what they may be called, where they come from, and the
 * presets that give an application what it read at its old identity system.
 *
 * Guarantee: no setting of a client changes a claim that says who the user is, who issued the token and for whom, or
 * how the user proved who they are (RESERVED).
 */
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';

/** Where a claim is given. */
export const CLAIM_PLACES = ['id_token', 'userinfo', 'introspection', 'access_token'] as const;

export type ClaimPlace = (typeof CLAIM_PLACES)[number];

/** One claim of a client. */
export interface ClientClaim {
  /**
   * Its name. A dot nests, as in Keycloak's mappers (`realm_access.roles`), unless the name is a URL. A segment `*`
   * stands for each key of the value: `resource_access.*.roles`.
   */
  claim: string;
  /** `metadata.KEY`, `metadata.KEY#/pointer`, `metadata.PREFIX*`, `user.FIELD`, `org.FIELD` or `roles`. */
  from: string;
  in: ClaimPlace[];
  /** The value where the user has none. */
  default?: string | undefined;
}

/** Fields of a user that a claim may hold. */
export const USER_SOURCES = [
  ...['id', 'userName', 'loginName', 'displayName', 'givenName', 'familyName', 'nickName'],
  ...['preferredLanguage', 'gender', 'email', 'phone'],
] as const;
/** Fields of the user's organization that a claim may hold. */
export const ORG_SOURCES = ['id', 'name', 'primaryDomain'] as const;

export type UserSource = (typeof USER_SOURCES)[number];
export type OrgSource = (typeof ORG_SOURCES)[number];

/**
 * Names that no client's claim has, at the top: those of OpenID Connect Core 1.0 section 2, RFC 7519, RFC 7662, RFC
 * 8693 and RFC 9068 on which decisions rest, and the addresses that this service has verified or not.
 */
export const RESERVED: ReadonlySet<string> = new Set([
  ...['sub', 'iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'sid'],
  ...['at_hash', 'c_hash', 's_hash', 'events', 'cnf', 'act', 'may_act', 'authorization_details'],
  ...['active', 'client_id', 'scope', 'token_type', 'username', '_claim_names', '_claim_sources'],
  ...['email', 'email_verified', 'phone_number', 'phone_number_verified', 'urn:service:iam:user:resourceowner:id'],
]);

const MAX_CLAIMS = 50;
/** Of the claims of one user for one client together, as JSON. */
export const MAX_CLAIM_BYTES = 16_384;

const FROM = new RegExp(
  `^(?:metadata\\..+|user\\.(?:${USER_SOURCES.join('|')})|org\\.(?:${ORG_SOURCES.join('|')})|roles)$`,
);

/** The segments of a claim's name: `realm_access.roles` has two, a URL one. */
export function segmentsOf(claim: string): string[] {
  return /^[a-z][a-z0-9+-]*:\/\//i.test(claim) ? [claim] : claim.split('.');
}

const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype', '']);

function nameProblem(claim: string): string | undefined {
  const segments = segmentsOf(claim);
  if (segments.some((segment) => UNSAFE.has(segment))) return 'must be names, separated by dots';
  if (segments.filter((segment) => segment.includes('*')).length > 1) return 'must have at most one *';
  if (RESERVED.has(segments[0] as string)) return 'must not be a claim that says who the user is or how they signed in';
  return undefined;
}

const claimName = requiredText(200).superRefine((claim, ctx) => {
  const message = claim === '' ? undefined : nameProblem(claim);
  if (message) ctx.addIssue({ code: 'custom', message });
});

const PLACES = `must be one of ${CLAIM_PLACES.join(', ')}`;

const clientClaim = z
  .strictObject({
    claim: claimName.meta({ description: 'A dot nests, unless the name is a URL. `*`: each key of the value.' }),
    from: requiredText(300)
      .regex(FROM, 'must be metadata.KEY, user.FIELD, org.FIELD or roles, as the guide lists them')
      .meta({
        description:
          '`metadata.KEY`; `metadata.KEY#/a/b`: a part of a JSON value (RFC 6901); `metadata.PREFIX*`: an object of all such keys; `user.FIELD`, `org.FIELD`, `roles`.',
      }),
    in: z
      .array(z.enum(CLAIM_PLACES, PLACES))
      .min(1, 'must have at least one entry')
      .max(10, 'must have at most 10 entries')
      .overwrite((list) => [...new Set(list)])
      .default([...CLAIM_PLACES]),
    default: z.string('must be a text').max(200, 'must have at most 200 characters').optional(),
  })
  .meta({ id: 'ClientClaim' });

export const clientClaims = z.array(clientClaim).max(MAX_CLAIMS, `must have at most ${MAX_CLAIMS} entries`);

const everywhere = (claim: string, from: string, more: Partial<ClientClaim> = {}): ClientClaim => ({
  claim,
  from,
  in: [...CLAIM_PLACES],
  ...more,
});

/**
 * What tokens of other systems hold, from what their users bring along when they are imported (docs/sources). Resource
 * servers of Keycloak, Cognito, Firebase and Supabase read JWTs.
 */
export const CLAIM_PRESETS: Readonly<Record<string, { claims: ClientClaim[]; accessTokenType: 'opaque' | 'jwt' }>> = {
  keycloak: {
    accessTokenType: 'jwt',
    claims: [
      everywhere('realm_access.roles', 'metadata.realmRoles'),
      everywhere('resource_access.*.roles', 'metadata.clientRoles'),
      everywhere('groups', 'metadata.groups'),
      everywhere('preferred_username', 'user.userName', { in: ['access_token', 'introspection'] }),
    ],
  },
  auth0: {
    accessTokenType: 'jwt',
    claims: [
      everywhere('{namespace}app_metadata', 'metadata.app_metadata'),
      everywhere('{namespace}user_metadata', 'metadata.user_metadata'),
      everywhere('{namespace}roles', 'metadata.app_metadata#/roles'),
    ],
  },
  cognito: {
    accessTokenType: 'jwt',
    claims: [
      everywhere('cognito:groups', 'metadata.cognito:groups'),
      everywhere('cognito:username', 'user.userName'),
      everywhere('custom:*', 'metadata.custom:*', { in: ['id_token', 'userinfo'] }),
    ],
  },
  firebase: {
    accessTokenType: 'jwt',
    claims: [
      everywhere('*', 'metadata.customAttributes'),
      everywhere('user_id', 'user.id'),
      everywhere('firebase.tenant', 'metadata.tenantId'),
    ],
  },
  supabase: {
    accessTokenType: 'jwt',
    claims: [
      everywhere('app_metadata', 'metadata.app_metadata'),
      everywhere('user_metadata', 'metadata.user_metadata'),
      everywhere('role', 'metadata.role', { default: 'authenticated' }),
    ],
  },
};

const NAMES = Object.keys(CLAIM_PRESETS);

/** The fields of a client that say which claims it gets. */
export const claimFields = {
  claims: clientClaims.optional().meta({ description: 'Claims beside the standard ones.' }),
  claimsPreset: z
    .enum(NAMES, `must be one of ${NAMES.join(', ')}`)
    .optional()
    .meta({
      description:
        'In place of `claims`: those that tokens of this system have, from what its users bring. It also makes access tokens JWTs, unless `accessTokenType` says otherwise.',
    }),
  claimsNamespace: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as https://acme.example/' })
    .max(200, 'must have at most 200 characters')
    .optional()
    .meta({ description: 'What begins the names of the preset `auth0`. Default: the address of this service.' }),
  accessTokenType: z.enum(['opaque', 'jwt'], 'must be one of opaque, jwt').optional().meta({
    description: '`jwt`: access tokens of users are JWTs (RFC 9068), which resource servers verify themselves.',
  }),
};

interface Given {
  claims?: ClientClaim[] | undefined;
  claimsPreset?: string | undefined;
  claimsNamespace?: string | undefined;
  accessTokenType?: 'opaque' | 'jwt' | undefined;
}

/**
 * The claims and the type of tokens that a request asks for; what it leaves out is undefined.
 * @param baseUrl the public address, which begins names of the preset `auth0` by default
 */
export function claimsOfRequest(given: Given, baseUrl: string): Pick<Given, 'claims' | 'accessTokenType'> {
  const preset = given.claimsPreset === undefined ? undefined : CLAIM_PRESETS[given.claimsPreset];
  const namespace = given.claimsNamespace ?? `${baseUrl.replace(/\/$/, '')}/`;
  const claims = preset?.claims.map((one) => ({ ...one, claim: one.claim.replace('{namespace}', namespace) }));
  return { claims: claims ?? given.claims, accessTokenType: given.accessTokenType ?? preset?.accessTokenType };
}
