/**
 * Okta: users as `GET /api/v1/users` lists them, as its API accepts them with imported hashes, and as CSV.
 *
 * Guarantee: no address counts as verified, because Okta has no reliable flag for it. `credentials.emails` says
 * VERIFIED even for users whom an admin has just created, and Okta itself warns against relying on its claim
 * `email_verified`. UNVERIFIED is believed.
 * https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/
 * https://support.okta.com/help/s/article/how-to-return-the-email-verified-claim
 */

import type { Note, Person } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { isFields, objectAt, objectsAt, textAt } from '../../values.ts';
import { asUser, isRow } from './csv.ts';
import { oktaHash } from './hash.ts';

const STAGED: Note = {
  id: 'OKTA-STAGED',
  message: 'The user was not activated yet; they are imported as inactive, so that no mail is sent.',
};
const PASSWORD_ELSEWHERE: Note = {
  id: 'OKTA-PASSWORD-ELSEWHERE',
  message: 'Another directory or provider keeps the password, not Okta; the user must set a new one here.',
};

export const okta: Source = {
  name: 'okta',
  title: 'Okta',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: certaintyOf,
  converter: () => convert,
};

const STATUSES = 'ACTIVE STAGED PROVISIONED RECOVERY PASSWORD_EXPIRED LOCKED_OUT SUSPENDED DEPROVISIONED'.split(' ');

function certaintyOf(record: Fields): number {
  if (isRow(record)) return 1;
  const profile = objectAt(record, 'profile');
  if (!Object.hasOwn(profile, 'login')) return 0;
  const isListed = STATUSES.includes(textAt(record, 'status') ?? '') && Object.hasOwn(record, 'id');
  return isListed || isFields(record.credentials) || Object.hasOwn(profile, 'secondEmail') ? 1 : 0.6;
}

function convert(record: Fields): Person {
  const user = asUser(record);
  const profile = objectAt(user, 'profile');
  const credentials = objectAt(user, 'credentials');
  const password = objectAt(credentials, 'password');
  const { hash, notes = [] } = oktaHash(objectAt(password, 'hash'));
  const status = textAt(user, 'status');
  const provider = providerOf(credentials);
  const phone = keyOf(profile, 'mobilePhone', 'primaryPhone');
  const language = keyOf(profile, 'preferredLanguage', 'locale');
  return {
    userId: textAt(user, 'id'),
    userName: textAt(profile, 'login'),
    email: textAt(profile, 'email'),
    emailVerified: isUnverified(profile, credentials) ? false : undefined,
    firstName: textAt(profile, 'firstName'),
    lastName: textAt(profile, 'lastName'),
    displayName: textAt(profile, 'displayName'),
    nickName: textAt(profile, 'nickName'),
    language: textAt(profile, language),
    phone: textAt(profile, phone),
    state: stateOf(status),
    hash,
    password: hash === undefined ? textAt(password, 'value') : undefined,
    passwordChangeRequired: status === 'PASSWORD_EXPIRED' || status === 'RECOVERY' ? true : undefined,
    metadata: { ...rest(profile, [phone, language]), 'credentials.provider': provider },
    notes: [...notes, ...(status === 'STAGED' ? [STAGED] : []), ...(provider ? [PASSWORD_ELSEWHERE] : [])],
  };
}

/** The first of the two attributes that is present. */
function keyOf(profile: Fields, first: string, second: string): string {
  return textAt(profile, first) === undefined ? second : first;
}

function isUnverified(profile: Fields, credentials: Fields): boolean {
  const email = textAt(profile, 'email')?.toLowerCase();
  const primary = objectsAt(credentials, 'emails').find(
    (one) => one.type === 'PRIMARY' && textAt(one, 'value')?.toLowerCase() === email,
  );
  return primary?.status === 'UNVERIFIED';
}

/** A user is active only if they could have signed in to Okta, at least with the last mail it sent. */
function stateOf(status: string | undefined): Person['state'] {
  if (status === 'LOCKED_OUT') return 'locked';
  return ['STAGED', 'SUSPENDED', 'DEPROVISIONED'].includes(status ?? '') ? 'inactive' : undefined;
}

/** The system that checks the password, if not Okta: ACTIVE_DIRECTORY, LDAP, FEDERATION, SOCIAL. */
function providerOf(credentials: Fields): Fields | undefined {
  const provider = objectAt(credentials, 'provider');
  const type = textAt(provider, 'type');
  return type === undefined || type === 'OKTA' || type === 'IMPORT' ? undefined : provider;
}

const TAKEN = ['login', 'email', 'firstName', 'lastName', 'displayName', 'nickName'];

/** The attributes without a field, both Okta's and the organization's own. */
function rest(profile: Fields, alsoTaken: readonly string[]): Fields {
  return Object.fromEntries(
    Object.entries(profile).filter(([key]) => !TAKEN.includes(key) && !alsoTaken.includes(key)),
  );
}
