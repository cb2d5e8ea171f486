/**
 * Who a provider says somebody is: the ids that links are compared with, and what is shown or proposed for a new user.
 *
 * Guarantee: a person is named by an id that the provider never gives to somebody else. A claim that people or their
 * administrators can choose, such as an address, is never an id (nOAuth). An address counts as verified only if the
 * provider says so, and never if it is Microsoft, where any tenant may claim any address.
 */
import { ProviderError } from './provider-error.ts';
import type { Idp } from './store.ts';

/** What the provider said about a person. */
export interface Facts {
  claims: Record<string, unknown>;
  /** GitHub's answer about addresses. */
  emails?: unknown;
}

export interface Identity {
  /** The forms in which links may hold the id of the person at the provider. */
  subjects: string[];
  email?: string;
  emailVerified: boolean;
  name?: string;
  givenName?: string;
  familyName?: string;
  userName?: string;
  locale?: string;
  picture?: string;
  /** When they signed in there, in seconds since 1970. */
  authTime?: number;
  /** A recent sign-in there was asked for, and the provider does not say when it was: it signs in nobody by itself. */
  isUndated?: true;
  /** Authentication methods (RFC 8176) that the provider names. */
  amr: string[];
  claims: Record<string, unknown>;
}

/** The claims of OpenID Connect Core section 5.1. */
const STANDARD = {
  email: 'email',
  emailVerified: 'email_verified',
  name: 'name',
  givenName: 'given_name',
  familyName: 'family_name',
  userName: 'preferred_username',
  locale: 'locale',
  picture: 'picture',
} as const;

/** @param callback parameters of the way back: Apple sends the name there, once @throws ProviderError */
export function identityFrom(idp: Idp, { claims, emails }: Facts, callback: URLSearchParams): Identity {
  const fields = { ...STANDARD, ...idp.settings.fields };
  const read = (field: keyof typeof STANDARD, most = 200) => textOf(valueAt(claims, fields[field]), most);
  const listed = primaryOf(emails);
  const verified = valueAt(claims, fields.emailVerified);
  const names = idp.type === 'apple' ? appleNames(callback.get('user')) : {};
  return {
    subjects: subjectsOf(idp, claims),
    ...given('email', listed?.email ?? read('email')),
    emailVerified: idp.type !== 'microsoft' && (listed ? listed.isVerified : verified === true || verified === 'true'),
    ...given('name', read('name')),
    ...given('givenName', names.givenName ?? read('givenName')),
    ...given('familyName', names.familyName ?? read('familyName')),
    ...given('userName', read('userName')),
    ...given('locale', read('locale', 35)),
    ...given('picture', read('picture', 2000)),
    ...(Number.isSafeInteger(claims.auth_time) ? { authTime: Number(claims.auth_time) } : {}),
    amr: amrOf(claims.amr),
    claims: JSON.stringify(claims).length > MOST_CLAIMS ? {} : claims,
  };
}

/** More claims than this, in characters, are not kept: anybody's provider may send them. */
const MOST_CLAIMS = 16_000;
const MOST_SUBJECT = 500;

/** Claims that say who somebody is today, which others may have tomorrow or claim today. */
const NO_IDS: ReadonlySet<string> = new Set([
  ...['email', 'emails', 'mail', 'upn', 'preferred_username', 'unique_name', 'username', 'login', 'name'],
  ...['nickname', 'phone_number', 'verified_primary_email', 'verified_secondary_email'],
]);

function subjectsOf({ type, settings }: Idp, claims: Record<string, unknown>): string[] {
  const { subject } = settings;
  if (NO_IDS.has(subject.toLowerCase())) throw new ProviderError('refused', `${subject} is not an id of a person`);
  if (type === 'microsoft') requireTenant(settings.tenants, claims);
  const id = idOf(valueAt(claims, subject), subject);
  if (type !== 'microsoft' || subject !== 'oid') return [id];
  const tenant = idOf(claims.tid, 'tid');
  // `sub` is an id too: systems that linked by it had the same app registration. `oid.tid` is the form of MSAL.
  return [id, `${id}.${tenant}`, `${tenant}.${id}`, idOf(claims.sub, 'sub')];
}

/** @throws ProviderError when the person is of a tenant that may not sign in */
function requireTenant(tenants: readonly string[], { tid }: Record<string, unknown>): void {
  if (tenants.length === 0) return;
  const isAllowed = typeof tid === 'string' && tenants.some((each) => each.toLowerCase() === tid.toLowerCase());
  if (!isAllowed) throw new ProviderError('not-trusted', 'the person is of a tenant that may not sign in (tid)');
}

/** A number stays what JSON wrote, as long as it is exact. */
function idOf(value: unknown, name: string): string {
  const id = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof id === 'string' && id !== '' && id.length <= MOST_SUBJECT && isPlain(id)) return id;
  throw new ProviderError('not-trusted', `the provider does not say the id of the person (${name})`);
}

/** The claim with this name, else the value at this path with dots. */
function valueAt(claims: Record<string, unknown>, path: string | undefined): unknown {
  if (path === undefined) return undefined;
  if (Object.hasOwn(claims, path)) return claims[path];
  return path.split('.').reduce<unknown>((value, name) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    return isObject ? (value as Record<string, unknown>)[name] : undefined;
  }, claims);
}

function textOf(value: unknown, most: number): string | undefined {
  const text = typeof value === 'string' && value.length <= most ? value.trim() : '';
  return text !== '' && isPlain(text) ? text : undefined;
}

/** Whether it can be stored, and is shown in a terminal as what it is: nothing of it is a control character. */
function isPlain(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function given<K extends string, V>(name: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [key in K]?: V });
}

/** The primary address in GitHub's answer about addresses. */
function primaryOf(emails: unknown): { email: string; isVerified: boolean } | undefined {
  const list = Array.isArray(emails) ? (emails as Record<string, unknown>[]) : [];
  const primary = list.find((each) => each?.primary === true);
  const email = textOf(primary?.email, 200);
  return email === undefined ? undefined : { email, isVerified: primary?.verified === true };
}

/** The browser says it, so it is a proposal for a new user and nothing else. */
function appleNames(user: string | null): { givenName?: string | undefined; familyName?: string | undefined } {
  try {
    const name = user === null ? undefined : JSON.parse(user)?.name;
    return { givenName: textOf(name?.firstName, 200), familyName: textOf(name?.lastName, 200) };
  } catch {
    return {};
  }
}

/** The registered values of RFC 8176 section 2. */
const AMR: ReadonlySet<string> = new Set([
  ...['face', 'fpt', 'geo', 'hwk', 'iris', 'kba', 'mca', 'mfa', 'otp', 'pin', 'pop', 'pwd', 'rba', 'retina', 'sc'],
  ...['sms', 'swk', 'tel', 'user', 'vbm', 'wia'],
]);

function amrOf(amr: unknown): string[] {
  const methods = Array.isArray(amr) ? amr : [];
  return [...new Set(methods.filter((method): method is string => AMR.has(method)))];
}
