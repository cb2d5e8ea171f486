/**
 * FusionAuth: request bodies of its import, and responses of its user search and of `GET /api/user`.
 * https://fusionauth.io/docs/apis/users/import
 * https://fusionauth.io/docs/apis/users/search
 *
 * The API never returns hashes; they come from a body that was made for its import, or from its database.
 */

import type { HashText } from '../../hash-text.ts';
import type { Note, Person } from '../../person.ts';
import { CONTEXT } from '../../read/json.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, numberAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { factorsOf } from './factors.ts';
import { hashOf } from './hash.ts';

const EXPIRY: Note = {
  id: 'EXPIRY-DROPPED',
  message: 'The account has an expiry date in the future, which has no counterpart here; the date is dropped.',
};

export const fusionauth: Source = {
  name: 'fusionauth',
  title: 'FusionAuth',
  formats: ['json', 'ndjson'],
  jsonPaths: [['users', '*'], ['user']],
  recognizes,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  if (textAt(record, 'encryptionScheme') !== undefined) return 1;
  const has = (key: string, field: string) => objectsAt(record, key).some((each) => Object.hasOwn(each, field));
  if (has('registrations', 'applicationId') || has('memberships', 'groupId')) return 0.9;
  if (Object.hasOwn(record, 'usernameStatus') || Object.hasOwn(record, 'breachedPasswordLastCheckedInstant'))
    return 0.9;
  const isDated = Object.hasOwn(record, 'insertInstant') || Object.hasOwn(record, 'lastUpdateInstant');
  return isDated && Object.hasOwn(record, 'active') ? 0.8 : 0;
}

function convert(record: Fields): Person {
  const { hash, password, notes = [] } = passwordOf(record);
  const factors = factorsOf(record);
  const email = textAt(record, 'email');
  const phone = textAt(record, 'phoneNumber') ?? textAt(record, 'mobilePhone');
  const expiry = numberAt(record, 'expiry');
  const isExpired = expiry !== undefined && expiry <= Date.now();
  return {
    orgId: textAt(record, 'tenantId'),
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    // FusionAuth sends mail to this address if the user has no other.
    email: email ?? textAt(objectAt(record, 'data'), 'email'),
    emailVerified: email === undefined ? undefined : isVerified(record, 'email'),
    firstName: textAt(record, 'firstName'),
    lastName: textAt(record, 'lastName'),
    displayName: textAt(record, 'fullName'),
    language: firstText(record.preferredLanguages),
    phone,
    phoneVerified: Object.hasOwn(record, 'phoneNumber') ? isVerified(record, 'phoneNumber') : undefined,
    state: boolAt(record, 'active') === false || isExpired ? 'inactive' : undefined,
    hash,
    password,
    passwordChangeRequired: boolAt(record, 'passwordChangeRequired'),
    totp: factors.totp,
    metadata: metadataOf(record, phone),
    notes: [...notes, ...factors.notes, ...(expiry !== undefined && !isExpired ? [EXPIRY] : [])],
  };
}

/** Without a scheme the password is plain text; an import body may name one scheme for all its users. */
function passwordOf(record: Fields): HashText & { password?: string } {
  const scheme = textAt(record, 'encryptionScheme') ?? textAt(objectAt(record, CONTEXT), 'encryptionScheme');
  if (scheme !== undefined) return hashOf(record, scheme);
  const { password } = record;
  return typeof password === 'string' && password !== '' ? { password } : {};
}

/** Since 1.59 each identity has its own verification state; before, the user had one. */
function isVerified(record: Fields, type: string): boolean | undefined {
  const identity = objectsAt(record, 'identities').find((each) => textAt(each, 'type') === type);
  return (identity && boolAt(identity, 'verified')) ?? boolAt(record, 'verified');
}

function firstText(value: unknown): string | undefined {
  return Array.isArray(value) && typeof value[0] === 'string' ? value[0] : undefined;
}

function metadataOf(record: Fields, phone: string | undefined): Record<string, unknown> {
  const data = objectAt(record, 'data');
  const mobilePhone = textAt(record, 'mobilePhone');
  const kept = ['middleName', 'birthDate', 'imageUrl', 'timezone', 'parentEmail'];
  return {
    ...Object.fromEntries(kept.map((key) => [key, textAt(record, key)])),
    mobilePhone: mobilePhone === phone ? undefined : mobilePhone,
    data: Object.keys(data).length > 0 ? data : undefined,
    registrations: picked(record, 'registrations', ['applicationId', 'username', 'roles', 'data']),
    memberships: picked(record, 'memberships', ['groupId', 'data']),
  };
}

/** Keeps these fields of each element, not the system's times, ids and tokens. */
function picked(record: Fields, key: string, fields: readonly string[]): Fields[] | undefined {
  const elements = objectsAt(record, key).map((each) =>
    Object.fromEntries(fields.filter((field) => Object.hasOwn(each, field)).map((field) => [field, each[field]])),
  );
  return elements.length > 0 ? elements : undefined;
}
