/**
 * Firebase Authentication: what `firebase auth:export` writes as JSON or CSV, and users as the Admin SDK lists them, whose
 * fields have other names.
 *
 * https://firebase.google.com/docs/cli/auth#file_format
 * https://firebase.google.com/docs/reference/admin/node/firebase-admin.auth.userrecord
 */

import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person, Skipped } from '../../person.ts';
import type { Fields, Format, Source } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { type HashConfig, hashConfigOf, hashOf } from './hash.ts';
import { FIREBASE_COLUMNS, providersOf } from './providers.ts';

const PROVIDERS_ADDRESS: Note = {
  id: 'EMAIL-OF-PROVIDER',
  message: 'The user has no address but that at an identity provider; it is taken, as not verified.',
};

export const firebase: Source = {
  name: 'firebase',
  title: 'Firebase Authentication',
  formats: ['json', 'csv', 'ndjson'],
  jsonPaths: [['users', '*']],
  csvColumns: FIREBASE_COLUMNS,
  hashConfig:
    'the password hash parameters of the project: Firebase console, Authentication, Users, the three dots above the list',
  recognizes,
  converter({ hashConfig }) {
    const config = hashConfig === undefined ? undefined : hashConfigOf(hashConfig);
    return (record) => convert(record, config);
  },
};

function recognizes(record: Fields, format: Format): number {
  // Without a header any file could have these columns: so their content counts.
  if (format === 'csv') return isRow(record) ? 0.9 : 0;
  if (typeof record.localId === 'string') return 1;
  return typeof record.uid === 'string' && Array.isArray(record.providerData) ? 0.9 : 0;
}

function isRow(record: Fields): boolean {
  const isMoment = /^[0-9]{10,14}$/.test(textAt(record, 'createdAt') ?? '');
  return (
    textAt(record, 'localId') !== undefined && isMoment && /^(true|false)$/.test(textAt(record, 'emailVerified') ?? '')
  );
}

function convert(record: Fields, config: HashConfig | undefined): Person | Skipped {
  if (isTitles(record)) return { skip: 'The titles of the columns.' };
  const providers = providersOf(record);
  const phone = textAt(record, 'phoneNumber');
  const email = textAt(record, 'email');
  const providersEmail = providers.find((provider) => provider.email !== undefined)?.email;
  if (isAnonymous(record) && providers.length === 0) return { skip: 'An anonymous user.' };
  const notes: Note[] = [];
  if (email === undefined && providersEmail !== undefined) notes.push(PROVIDERS_ADDRESS);
  if (hasSecondFactor(record)) notes.push(SECOND_FACTOR_LOST);
  return {
    userId: textAt(record, 'localId') ?? textAt(record, 'uid'),
    email: email ?? providersEmail,
    emailVerified: email === undefined ? false : boolAt(record, 'emailVerified'),
    displayName: textAt(record, 'displayName'),
    phone,
    // A number gets in by a code that was sent to it.
    phoneVerified: phone !== undefined,
    state: boolAt(record, 'disabled') === true ? 'inactive' : 'active',
    hash: hashOf(record, config, notes),
    metadata: {
      photoUrl: textAt(record, 'photoUrl') ?? textAt(record, 'photoURL'),
      customAttributes: claimsOf(record),
      tenantId: textAt(record, 'tenantId'),
    },
    links: providers.map(({ provider, externalUserId, displayName, email }) => {
      return { provider, externalUserId, displayName: displayName ?? email };
    }),
    notes,
  };
}

/** The first row of a CSV to which somebody has added the titles that Firebase's documentation gives the columns. */
function isTitles(record: Fields): boolean {
  return textAt(record, 'localId')?.toLowerCase() === 'uid' && textAt(record, 'email')?.toLowerCase() === 'email';
}

/** Firebase does not say who is: it is who has nothing to be known by. */
function isAnonymous(record: Fields): boolean {
  return ['email', 'phoneNumber', 'displayName', 'passwordHash', 'customAttributes'].every(
    (name) => textAt(record, name) === undefined,
  );
}

/** Custom claims, which the command line writes as JSON text. */
function claimsOf(record: Fields): unknown {
  const claims = textAt(record, 'customAttributes') ?? objectAt(record, 'customClaims');
  return claims === '{}' || (typeof claims === 'object' && Object.keys(claims).length === 0) ? undefined : claims;
}

function hasSecondFactor(record: Fields): boolean {
  return (
    objectsAt(record, 'mfaInfo').length > 0 || objectsAt(objectAt(record, 'multiFactor'), 'enrolledFactors').length > 0
  );
}
