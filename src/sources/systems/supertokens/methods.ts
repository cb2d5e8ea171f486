/**
 * The login methods of a SuperTokens user, in any form that its Core and its tables use.
 *
 * The main method is chosen as in SuperTokens: the one marked primary, else the oldest.
 */
import type { Fields } from '../../source.ts';
import { boolAt, isFields, numberAt, objectAt, objectsAt, textAt } from '../../values.ts';

export interface LoginMethod {
  /** Its user's id in the previous system, if the method has its own. */
  externalUserId: string | undefined;
  /** `emailpassword`, `thirdparty`, `passwordless`, `webauthn`. */
  recipe: string | undefined;
  email: string | undefined;
  phone: string | undefined;
  isVerified: boolean | undefined;
  isPrimary: boolean;
  /** Milliseconds since 1970; a method without a date is the newest. */
  joined: number;
  provider: string | undefined;
  providerUserId: string | undefined;
  hash: string | undefined;
  /** Unchanged, spaces included. */
  password: string | undefined;
}

/** Whether a record is a row of the tables, and not JSON of the Core. */
export function isRow(record: Fields): boolean {
  return Object.hasOwn(record, 'time_joined');
}

/** The user's methods, the main one first. */
export function methodsOf(record: Fields): LoginMethod[] {
  const methods = rawMethods(record).map(methodOf);
  const main = mainOf(methods.filter(({ recipe }) => recipe === 'emailpassword')) ?? mainOf(methods);
  return main === undefined ? [] : [main, ...methods.filter((method) => method !== main)];
}

function rawMethods(record: Fields): Fields[] {
  if (Array.isArray(record.loginMethods)) return objectsAt(record, 'loginMethods');
  if (isRow(record)) return [ofRow(record)];
  // Core API before account linking: {"recipeId": …, "user": {…}}
  return isFields(record.user) ? [{ ...record.user, recipeId: record.recipeId }] : [];
}

function ofRow(row: Fields): Fields {
  const recipeId = textAt(row, 'password_hash') !== undefined ? 'emailpassword' : 'passwordless';
  return {
    recipeId: textAt(row, 'third_party_id') === undefined ? recipeId : 'thirdparty',
    email: row.email,
    phoneNumber: row.phone_number,
    isVerified: row.is_verified,
    timeJoined: row.time_joined,
    passwordHash: row.password_hash,
    thirdPartyId: row.third_party_id,
    thirdPartyUserId: row.third_party_user_id,
  };
}

function methodOf(raw: Fields): LoginMethod {
  const thirdParty = objectAt(raw, 'thirdParty');
  // The Core accepts the first name, its documentation uses the second.
  const plain = raw.plainTextPassword ?? raw.plaintextPassword;
  return {
    externalUserId: textAt(raw, 'externalUserId'),
    recipe: textAt(raw, 'recipeId'),
    email: textAt(raw, 'email'),
    phone: textAt(raw, 'phoneNumber'),
    isVerified: boolAt(raw, 'isVerified') ?? boolAt(raw, 'verified'),
    isPrimary: boolAt(raw, 'isPrimary') ?? false,
    joined: numberAt(raw, 'timeJoinedInMSSinceEpoch') ?? numberAt(raw, 'timeJoined') ?? Number.POSITIVE_INFINITY,
    provider: textAt(raw, 'thirdPartyId') ?? textAt(thirdParty, 'id'),
    providerUserId: textAt(raw, 'thirdPartyUserId') ?? textAt(thirdParty, 'userId'),
    hash: textAt(raw, 'passwordHash'),
    password: typeof plain === 'string' && plain !== '' ? plain : undefined,
  };
}

function mainOf(methods: readonly LoginMethod[]): LoginMethod | undefined {
  const byAge = methods.toSorted((a, b) => (a.joined < b.joined ? -1 : a.joined > b.joined ? 1 : 0));
  return methods.find(({ isPrimary }) => isPrimary) ?? byAge[0];
}
