/**
 * The claims of a user: the standard ones, with those that imports bring as metadata, and those that a client reads
 * beside them (contract/claims.ts).
 *
 * Guarantee: a claim of a client never takes the place of one that says who the user is or how they signed in, whatever
 * the metadata contain. Metadata are read only for the clients that an IAM_OWNER chose, except for the standard claims.
 */
import type { AccountClaims, Client } from 'oidc-provider';
import { errors } from 'oidc-provider';
import {
  type ClaimPlace,
  type ClientClaim,
  MAX_CLAIM_BYTES,
  type OrgSource,
  RESERVED,
  segmentsOf,
  type UserSource,
} from '../../contract/claims.ts';
import { rightsOf } from '../../directory/members.ts';
import { findOrg } from '../../directory/organizations.ts';
import { findUser, loginNames, stateNow, type User } from '../../directory/users/store.ts';
import type { Db } from '../../platform/db/pool.ts';
import { GENDERS, isEmailAddress } from '../../platform/fields.ts';

/** Additional metadata of a registered client: its claims, as `ClientClaim[]`. */
export const CLIENT_CLAIMS = 'own_claims';
/** Where `addClientClaims` of patches.ts finds the claims of the client among those of an account. */
export const OWN: unique symbol = Symbol('claims of the client');

/**
 * The claims of a user for an ID token or for userinfo: those that the scopes choose from, and under OWN those of the
 * client.
 * @throws OIDCProviderError when the claims of the client are too large
 */
export async function accountClaims(
  db: Db,
  user: User,
  of: { client: Client | undefined; place: ClaimPlace },
): Promise<AccountClaims> {
  const own = of.client ? await ownClaims(db, user, { client: of.client, place: of.place }) : {};
  return { ...standardClaims(user), ...(await importedClaims(db, user.id)), [OWN]: own } as AccountClaims;
}

/**
 * The claims of a client for the user with this id; none, when the client has none or the user is not active.
 * @throws OIDCProviderError when they are too large
 */
export async function clientClaims(
  db: Db,
  userId: string,
  of: { client: Client; place: ClaimPlace },
): Promise<Record<string, unknown>> {
  if (claimsAt(of).length === 0) return {};
  const user = await findUser(db, userId);
  return user && stateNow(user) === 'active' ? ownClaims(db, user, of) : {};
}

function claimsAt({ client, place }: { client: Client; place: ClaimPlace }): ClientClaim[] {
  const all = (client[CLIENT_CLAIMS] ?? []) as ClientClaim[];
  return all.filter(({ in: places }) => places.includes(place));
}

async function ownClaims(
  db: Db,
  user: User,
  of: { client: Client; place: ClaimPlace },
): Promise<Record<string, unknown>> {
  const wanted = claimsAt(of);
  if (wanted.length === 0) return {};
  const read = await sourcesOf(db, user, wanted);
  const claims: Record<string, unknown> = {};
  for (const one of wanted) {
    const value = read(one.from) ?? one.default;
    if (value !== undefined) put(claims, segmentsOf(one.claim), value);
  }
  for (const name of Object.keys(claims)) if (RESERVED.has(name)) delete claims[name];
  const bytes = Buffer.byteLength(JSON.stringify(claims));
  if (bytes > MAX_CLAIM_BYTES) throw tooLarge(bytes);
  return claims;
}

function tooLarge(bytes: number): Error {
  const most = MAX_CLAIM_BYTES;
  return new errors.InvalidRequest(
    `the claims of this user for this client have ${bytes} bytes, and at most ${most} are allowed: an administrator can change the claims of the client`,
  );
}

type Source = (from: string) => unknown;

/** Reads what the claims need, and returns the value of each `from`; undefined if the user has none. */
async function sourcesOf(db: Db, user: User, claims: readonly ClientClaim[]): Promise<Source> {
  const needs = (prefix: string) => claims.some(({ from }) => from.startsWith(prefix));
  const metadata = needs('metadata.') ? await metadataOf(db, user.id) : new Map<string, string>();
  const org = needs('org.') ? await findOrg(db, user.orgId) : undefined;
  const roles = needs('roles') ? await rolesOf(db, user) : undefined;
  const ofOrg: Record<OrgSource, string | undefined> = {
    id: user.orgId,
    name: org?.name,
    primaryDomain: org?.domain,
  };
  return (from) => {
    if (from === 'roles') return roles;
    const [kind, rest] = [from.slice(0, from.indexOf('.')), from.slice(from.indexOf('.') + 1)];
    if (kind === 'user') return fieldsOf(user)[rest as UserSource] ?? undefined;
    return kind === 'org' ? ofOrg[rest as OrgSource] : metadataAt(metadata, rest);
  };
}

/** The roles of a user in the instance and in their own organization, by name; undefined without any. */
async function rolesOf(db: Db, { id, orgId }: User): Promise<string[] | undefined> {
  const { isIamOwner, orgRoles } = await rightsOf(db, id);
  const roles = [...(isIamOwner ? ['IAM_OWNER'] : []), ...(orgRoles.get(orgId) ?? [])];
  return roles.length > 0 ? roles : undefined;
}

function fieldsOf(user: User): Record<UserSource, string | null | undefined> {
  const { id, userName, displayName, givenName, familyName, nickName, preferredLanguage, email, phone } = user;
  const loginName = loginNames(user)[0];
  const gender = genderOf(user);
  return {
    ...{ id, userName, loginName, displayName, givenName, familyName, nickName },
    ...{ preferredLanguage, gender, email, phone },
  };
}

async function metadataOf(db: Db, userId: string, keys?: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ key: string; value: Buffer }>(
    'select key, value from metadata where user_id = $1 and ($2::text[] is null or key = any($2)) order by key',
    [userId, keys ?? null],
  );
  return new Map(rows.map(({ key, value }) => [key, value.toString('utf8')]));
}

/** `KEY`, `KEY#/a/b` (RFC 6901) or `PREFIX*`: an object of what follows the prefix. */
function metadataAt(metadata: ReadonlyMap<string, string>, at: string): unknown {
  if (metadata.has(at)) return parsed(metadata.get(at) as string);
  if (at.endsWith('*')) {
    const prefix = at.slice(0, -1);
    const found = [...metadata].filter(([key]) => key.startsWith(prefix));
    const parts = found.map(([key, value]) => [key.slice(prefix.length), parsed(value)] as const);
    return parts.length > 0 ? Object.fromEntries(parts) : undefined;
  }
  const hash = at.indexOf('#/');
  const text = hash < 0 ? undefined : metadata.get(at.slice(0, hash));
  if (text === undefined) return undefined;
  const path = at.slice(hash + 2).split('/');
  return path.reduce<unknown>(
    (value, part) => memberOf(value, part.replaceAll('~1', '/').replaceAll('~0', '~')),
    parsed(text),
  );
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Lists and objects are kept as JSON; every other value is a text. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Puts a value at its place among the claims. A segment `*` stands for each key of the value. */
function put(claims: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (name.includes('*')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const [before = '', after = ''] = name.split('*');
    for (const [key, one] of Object.entries(value)) put(claims, [before + key + after, ...rest], one);
    return;
  }
  if (rest.length === 0) {
    set(claims, name, value);
    return;
  }
  const present = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const inside = typeof present === 'object' && present !== null ? (present as Record<string, unknown>) : {};
  set(claims, name, inside);
  put(inside, rest, value);
}

/** Also sets `__proto__`, which may be a key of JSON, as a plain key. */
function set(claims: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(claims, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Standard claims of OpenID Connect Core 1.0 section 5.1; values that a user does not have are omitted. */
function standardClaims(user: User): AccountClaims {
  return {
    sub: user.id,
    name: (user.kind === 'human' ? user.displayName : user.machineName) || user.userName,
    ...given({ given_name: user.givenName, family_name: user.familyName, nickname: user.nickName }),
    preferred_username: isEmailAddress(user.userName) ? user.userName : loginNames(user)[0],
    ...given({ locale: user.preferredLanguage, gender: genderOf(user) }),
    updated_at: Math.floor(user.changedAt.getTime() / 1000),
    ...(user.email ? { email: user.email, email_verified: user.emailVerified } : {}),
    ...(user.phone ? { phone_number: user.phone, phone_number_verified: user.phoneVerified } : {}),
    'urn:service:iam:user:resourceowner:id': user.orgId,
  };
}

function given(claims: Record<string, string | null | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(claims).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

/** Turns `GENDER_FEMALE` into `female`, the form of section 5.1 of OpenID Connect Core 1.0. */
function genderOf(user: User): string | undefined {
  const name = GENDERS[user.gender];
  return name === undefined || name === 'GENDER_UNSPECIFIED' ? undefined : name.slice('GENDER_'.length).toLowerCase();
}

/** The metadata under which imports keep standard claims, by system (docs/sources); the first with a valid value. */
const IMPORTED: Readonly<Record<string, { from: readonly string[]; read: (value: unknown) => unknown }>> = {
  picture: {
    from: [
      ...['picture', 'photoUrl', 'avatar', 'avatar_url', 'image_url', 'image'],
      ...['user_metadata#/avatar_url', 'user_metadata#/picture'],
    ],
    read: webAddress,
  },
  website: { from: ['website'], read: webAddress },
  profile: { from: ['profile'], read: webAddress },
  birthdate: {
    from: ['birthdate', 'birthday'],
    read: (value) => (typeof value === 'string' && /^\d{4}(?:-\d\d-\d\d)?$/.test(value) ? value : undefined),
  },
  zoneinfo: {
    from: ['zoneinfo', 'timezone'],
    read: (value) => (typeof value === 'string' && /^[A-Za-z]+(?:[/_+-]\w+)*$/.test(value) ? value : undefined),
  },
  address: { from: ['address'], read: postalAddress },
};

const IMPORTED_KEYS = [
  ...new Set(
    Object.values(IMPORTED)
      .flatMap(({ from }) => from)
      .map((key) => key.split('#')[0] as string),
  ),
];

async function importedClaims(db: Db, userId: string): Promise<Record<string, unknown>> {
  const metadata = await metadataOf(db, userId, IMPORTED_KEYS);
  const claims: Record<string, unknown> = {};
  if (metadata.size === 0) return claims;
  for (const [claim, { from, read }] of Object.entries(IMPORTED)) {
    const value = from.map((key) => read(metadataAt(metadata, key))).find((one) => one !== undefined);
    if (value !== undefined) claims[claim] = value;
  }
  return claims;
}

function webAddress(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 2000) return undefined;
  return /^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : undefined;
}

const ADDRESS = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country'];

/** Section 5.1.1 of OpenID Connect Core 1.0: an object; a text is the whole address. */
function postalAddress(value: unknown): Record<string, string> | undefined {
  if (typeof value === 'string' && value.length <= 1000) return { formatted: value };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const parts = Object.entries(value).filter(([name, part]) => ADDRESS.includes(name) && typeof part === 'string');
  return parts.length > 0 ? Object.fromEntries(parts) : undefined;
}
