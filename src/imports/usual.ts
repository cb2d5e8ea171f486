/**
 * The short way for the entry that nearly all of a migration's entries look like: camelCase fields, all known, plain texts
 * within their limits, a hash and no plain password, no metadata, no links.
 *
 * Guarantee: what is taken here comes out just as the schema would have it (a property test holds the two together); for
 * all else this answers undefined and the schema judges. It is here for speed alone: it makes no objects but the item.
 */
import { HASH_MAX, hashProblem } from '../passwords/registry.ts';
import {
  displayNameOf,
  GENDERS,
  idProblem,
  isEmailAddress,
  isLanguageTag,
  nameKey,
  textProblem,
} from '../users/fields.ts';
import type { PendingItem } from './items.ts';

const MAX = 200;
const MAX_LANGUAGE = 10;
const STATE: Record<string, PendingItem['userState']> = {
  USER_STATE_ACTIVE: 'active',
  USER_STATE_INACTIVE: 'inactive',
  USER_STATE_LOCKED: 'locked',
};

/**
 * The entry's item, or undefined when the schema has to look at it.
 * @param plain no string of the entry was written with an escape, so none can hold NUL or a lone surrogate
 */
export function usualItem(entry: unknown, plain: boolean): PendingItem | undefined {
  if (!isObject(entry)) return undefined;
  const item = blank();
  let hasUser = false;
  for (const key in entry) {
    const value = entry[key];
    if (key === 'userId') {
      if (typeof value !== 'string' || idProblem(value)) return undefined;
      item.userId = value;
    } else if (key === 'state') {
      const state = typeof value === 'string' && Object.hasOwn(STATE, value) ? STATE[value] : undefined;
      if (!state) return undefined;
      item.userState = state;
    } else if (key === 'user') {
      if (!isObject(value) || !readUser(value, item, plain)) return undefined;
      hasUser = true;
    } else return undefined;
  }
  return hasUser && item.userId !== '' && finish(item) ? item : undefined;
}

function blank(): PendingItem {
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
    error: null,
  };
}

function readUser(user: Record<string, unknown>, item: PendingItem, plain: boolean): boolean {
  for (const key in user) {
    const value = user[key];
    switch (key) {
      case 'userName':
        if (!isText(value, plain) || value === '') return false;
        item.userName = value;
        break;
      case 'profile':
        if (!isObject(value) || !readProfile(value, item, plain)) return false;
        break;
      case 'email':
        if (!isObject(value) || !readEmail(value, item, plain)) return false;
        break;
      case 'phone':
        if (!isObject(value) || !readPhone(value, item, plain)) return false;
        break;
      case 'hashedPassword':
        if (!isObject(value) || !readHash(value, item, plain)) return false;
        break;
      case 'passwordChangeRequired':
        if (typeof value !== 'boolean') return false;
        item.passwordChangeRequired = value;
        break;
      default:
        return false;
    }
  }
  return true;
}

function readProfile(profile: Record<string, unknown>, item: PendingItem, plain: boolean): boolean {
  for (const key in profile) {
    const value = profile[key];
    if (!isText(value, plain)) return false;
    switch (key) {
      case 'firstName':
        item.givenName = value;
        break;
      case 'lastName':
        item.familyName = value;
        break;
      case 'nickName':
        item.nickName = value;
        break;
      case 'displayName':
        item.displayName = value;
        break;
      case 'preferredLanguage':
        if (value !== '' && (value.length > MAX_LANGUAGE || !isLanguageTag(value))) return false;
        item.preferredLanguage = value;
        break;
      case 'gender':
        item.gender = (GENDERS as readonly string[]).indexOf(value);
        if (item.gender < 0) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

function readEmail(email: Record<string, unknown>, item: PendingItem, plain: boolean): boolean {
  for (const key in email) {
    const value = email[key];
    if (key === 'email' && isText(value, plain) && isEmailAddress(value)) item.email = value;
    else if (key === 'isEmailVerified' && typeof value === 'boolean') item.emailVerified = value;
    else return false;
  }
  return true;
}

function readPhone(phone: Record<string, unknown>, item: PendingItem, plain: boolean): boolean {
  for (const key in phone) {
    const value = phone[key];
    if (key === 'phone' && isText(value, plain) && value !== '') item.phone = value;
    else if (key === 'isPhoneVerified' && typeof value === 'boolean') item.phoneVerified = value;
    else return false;
  }
  return item.phone !== null;
}

function readHash(hashed: Record<string, unknown>, item: PendingItem, plain: boolean): boolean {
  for (const key in hashed) {
    const value = hashed[key];
    if (key !== 'value' || !isText(value, plain, HASH_MAX) || value === '' || hashProblem(value)) return false;
    item.passwordHash = value;
  }
  return item.passwordHash !== null;
}

/** Sees that nothing required is missing, and fills in what follows from the rest. */
function finish(item: PendingItem): boolean {
  if (item.givenName === '' || item.familyName === '' || item.email === '') return false;
  if (item.userName === '') item.userName = item.email;
  if (item.displayName === '') item.displayName = displayNameOf(item.givenName, item.familyName);
  item.userNameKey = nameKey(item.userName);
  item.emailKey = item.userName === item.email ? item.userNameKey : nameKey(item.email);
  return true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown, plain: boolean, max = MAX): value is string {
  if (typeof value !== 'string') return false;
  return plain && value.length <= max ? true : textProblem(value, max) === undefined;
}
