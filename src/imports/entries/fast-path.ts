/**
 * The short way from a parsed entry to its item, for the most common entry of a migration: known camelCase fields only,
 * strings within their limits, a hash instead of a plain password, few metadata and links.
 *
 * Guarantee: returns exactly the item that the schema would (`entries/fast-path.property.test.ts` compares the two), or
 * undefined, and then the schema validates the entry. It exists for speed alone, and allocates no object but the item, its
 * metadata and its links.
 */
import { isBase64 } from '../../contract/humans.ts';
import { HASH_MAX, hashProblem } from '../../passwords/registry.ts';
import {
  displayNameOf,
  GENDERS,
  isEmailAddress,
  isLanguageTag,
  nameKey,
  textProblem,
  userIdProblem,
} from '../../platform/fields.ts';
import { unseenProblem } from '../../platform/text/visible.ts';
import type { Extras } from './factors.ts';
import { type PendingItem, userStateOf } from './item.ts';

const MAX = 200;
const MAX_LANGUAGE = 10;
/** Each is compared with those before it. */
const MAX_LIST = 20;
type Fields = Record<string, unknown>;
/** Entries without an address are left to the schema. */
type WithEmail = PendingItem & { email: string };

/**
 * The entry's item, or undefined when the schema has to validate it.
 * @param plain no string of the entry was written with an escape, so none can hold NUL or a lone surrogate
 */
export function fastPathItem(entry: unknown, plain: boolean): PendingItem | undefined {
  if (!isObject(entry)) return undefined;
  const { userId, user } = entry;
  if (typeof userId !== 'string' || userIdProblem(userId) || !isObject(user)) return undefined;
  const item = blank();
  item.userId = userId;
  const count = fieldsOf(entry);
  if (count > 2) {
    const { state } = entry;
    const known = typeof state === 'string' ? userStateOf(state) : undefined;
    if (!known || count > 3) return undefined;
    item.userState = known;
  }
  return readUser(user, item, plain) && finish(item) ? item : undefined;
}

function blank(): WithEmail {
  return {
    state: 'pending',
    userId: '',
    userName: '',
    userNameKey: '',
    userState: 'active',
    givenName: '',
    familyName: '',
    nickName: '',
    displayName: '',
    preferredLanguage: '',
    gender: 0,
    email: '',
    emailKey: '',
    emailVerified: false,
    phone: null,
    phoneVerified: false,
    passwordHash: null,
    passwordSealed: null,
    totpSealed: null,
    passwordChangeRequired: false,
    extras: null,
    oldSignIn: null,
    error: null,
  };
}

// Known fields are read by name and counted: an object with exactly as many fields as were found has no unknown ones.
// Rare fields are read only when some are left over, as reading a missing field searches the prototype and costs ten
// times as much.

function readUser(user: Fields, item: WithEmail, plain: boolean): boolean {
  const { profile, email, userName, hashedPassword } = user;
  if (!isObject(profile) || !readProfile(profile, item, plain)) return false;
  if (!isObject(email) || !readEmail(email, item, plain)) return false;
  let left = fieldsOf(user) - 2;
  if (userName !== undefined) {
    if (!isText(userName, plain) || userName === '' || unseenProblem(userName)) return false;
    item.userName = userName;
    left--;
  }
  if (hashedPassword !== undefined) {
    if (!isObject(hashedPassword) || !readHash(hashedPassword, item, plain)) return false;
    left--;
  }
  return left === 0 || readRare(user, item, plain) === left;
}

/** Returns how many rare fields were found; 0 when the fast path cannot take one of them. */
function readRare({ phone, passwordChangeRequired, metadata, idps }: Fields, item: WithEmail, plain: boolean): number {
  let found = 0;
  if (phone !== undefined) {
    if (!isObject(phone) || !readPhone(phone, item, plain)) return 0;
    found++;
  }
  if (passwordChangeRequired !== undefined) {
    if (typeof passwordChangeRequired !== 'boolean') return 0;
    item.passwordChangeRequired = passwordChangeRequired;
    found++;
  }
  if (metadata !== undefined) {
    if (!Array.isArray(metadata) || !readMetadata(metadata, item, plain)) return 0;
    found++;
  }
  if (idps !== undefined) {
    if (!Array.isArray(idps) || !readLinks(idps, item, plain)) return 0;
    found++;
  }
  return found;
}

function readProfile(profile: Fields, item: WithEmail, plain: boolean): boolean {
  const { firstName, lastName, displayName, preferredLanguage } = profile;
  if (!isText(firstName, plain) || !isText(lastName, plain)) return false;
  item.givenName = firstName;
  item.familyName = lastName;
  let left = fieldsOf(profile) - 2;
  if (displayName !== undefined) {
    if (!isText(displayName, plain)) return false;
    item.displayName = displayName;
    left--;
  }
  if (preferredLanguage !== undefined) {
    if (!isText(preferredLanguage, plain, MAX_LANGUAGE)) return false;
    if (preferredLanguage !== '' && !isLanguageTag(preferredLanguage)) return false;
    item.preferredLanguage = preferredLanguage;
    left--;
  }
  return left === 0 || readRareOfProfile(profile, item, plain) === left;
}

function readRareOfProfile({ nickName, gender }: Fields, item: WithEmail, plain: boolean): number {
  let found = 0;
  if (nickName !== undefined) {
    if (!isText(nickName, plain)) return 0;
    item.nickName = nickName;
    found++;
  }
  if (gender !== undefined) {
    item.gender = (GENDERS as readonly unknown[]).indexOf(gender);
    if (item.gender < 0) return 0;
    found++;
  }
  return found;
}

function readEmail(fields: Fields, item: WithEmail, plain: boolean): boolean {
  const { email } = fields;
  if (!isText(email, plain) || !isEmailAddress(email) || unseenProblem(email)) return false;
  item.email = email;
  const count = fieldsOf(fields);
  if (count === 1) return true;
  const { isEmailVerified } = fields;
  if (typeof isEmailVerified !== 'boolean') return false;
  item.emailVerified = isEmailVerified;
  return count === 2;
}

function readPhone(fields: Fields, item: WithEmail, plain: boolean): boolean {
  const { phone } = fields;
  if (!isText(phone, plain) || phone === '') return false;
  item.phone = phone;
  const count = fieldsOf(fields);
  if (count === 1) return true;
  const { isPhoneVerified } = fields;
  if (typeof isPhoneVerified !== 'boolean') return false;
  item.phoneVerified = isPhoneVerified;
  return count === 2;
}

function readHash(hashed: Fields, item: WithEmail, plain: boolean): boolean {
  const { value } = hashed;
  if (!isText(value, plain, HASH_MAX) || value === '' || hashProblem(value)) return false;
  item.passwordHash = value;
  return fieldsOf(hashed) === 1;
}

function readMetadata(list: unknown[], item: WithEmail, plain: boolean): boolean {
  if (list.length === 0) return true;
  if (list.length > MAX_LIST) return false;
  const metadata: { key: string; value: string }[] = [];
  for (const one of list) {
    if (!isObject(one) || fieldsOf(one) !== 2) return false;
    const { key, value } = one;
    if (!isText(key, plain) || key === '' || !isText(value, plain) || value === '' || !isBase64(value)) return false;
    for (const before of metadata) if (before.key === key) return false;
    metadata.push({ key, value });
  }
  item.extras = { metadata, idps: [] };
  return true;
}

function readLinks(list: unknown[], item: WithEmail, plain: boolean): boolean {
  if (list.length === 0) return true;
  if (list.length > MAX_LIST) return false;
  const idps: NonNullable<Extras['idps']> = [];
  for (const one of list) {
    if (!isObject(one)) return false;
    const { configId, externalUserId, displayName } = one;
    if (fieldsOf(one) !== (displayName === undefined ? 2 : 3)) return false;
    if (!isText(configId, plain) || configId === '' || !isText(externalUserId, plain) || externalUserId === '')
      return false;
    if (displayName !== undefined && !isText(displayName, plain)) return false;
    for (const before of idps)
      if (before.configId === configId && before.externalUserId === externalUserId) return false;
    idps.push({ configId, externalUserId, displayName: displayName ?? '' });
  }
  item.extras = { metadata: item.extras?.metadata ?? [], idps };
  return true;
}

function fieldsOf(object: Fields): number {
  let count = 0;
  for (const _ in object) count++;
  return count;
}

/** Returns false when a required field is missing; otherwise fills in the derived fields. */
function finish(item: WithEmail): boolean {
  if (item.givenName === '' || item.familyName === '' || item.email === '') return false;
  if (item.userName === '') item.userName = item.email;
  if (item.displayName === '') item.displayName = displayNameOf(item.givenName, item.familyName);
  item.userNameKey = nameKey(item.userName);
  item.emailKey = item.userName === item.email ? item.userNameKey : nameKey(item.email);
  return true;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown, plain: boolean, max = MAX): value is string {
  if (typeof value !== 'string') return false;
  return plain && value.length <= max ? true : textProblem(value, max) === undefined;
}
