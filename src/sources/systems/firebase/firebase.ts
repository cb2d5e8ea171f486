/**
 * Firebase Authentication: the JSON or CSV of `firebase auth:export`, and the users that the Admin SDK lists, whose
 * fields have other names.
 *
 * https://firebase.google.com/docs/cli/auth#file_format
 * https://firebase.google.com/docs/reference/admin/node/firebase-admin.auth.userrecord
 */

import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person, Skipped } from '../../person.ts';
import type { Fields, Format, Source } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { emulatorPassword, type HashConfig, hashConfigOf, hashOf } from './hash.ts';
import { FIREBASE_COLUMNS, providersOf } from './providers.ts';

const PROVIDERS_ADDRESS: Note = {
  id: 'EMAIL-OF-PROVIDER',
  message: "The user's only address is the one at an identity provider; it is imported as unverified.",
};

export const firebase: Source = {
  name: 'firebase',
  title: 'Firebase Authentication',
  formats: ['json', 'csv', 'ndjson'],
  jsonPaths: [['users', '*']],
  csvColumns: FIREBASE_COLUMNS,
  hashConfig:
    'The hashes of Firebase need it: the password hash parameters of the project, from the Firebase console ' +
    '(Authentication, Users, the three dots above the list).',
  recognizes,
  converter({ hashConfig }) {
    const config = hashConfig === undefined ? undefined : hashConfigOf(hashConfig);
    return (record) => convert(record, config);
  },
};

function recognizes(record: Fields, format: Format): number {
  // Any file without a header could have these columns, so their content decides.
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
  if (isTitles(record)) return { skip: 'A row of column titles.' };
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
    // A number is added only after the user enters the code sent to it.
    phoneVerified: phone !== undefined,
    state: boolAt(record, 'disabled') === true ? 'inactive' : 'active',
    hash: hashOf(record, config, notes),
    password: emulatorPassword(record),
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

/** The first row of a CSV to which someone added the column titles of Firebase's documentation. */
function isTitles(record: Fields): boolean {
  return textAt(record, 'localId')?.toLowerCase() === 'uid' && textAt(record, 'email')?.toLowerCase() === 'email';
}

/** Firebase does not mark anonymous users: a user counts as anonymous if nothing identifies them. */
function isAnonymous(record: Fields): boolean {
  return ['email', 'phoneNumber', 'displayName', 'passwordHash', 'customAttributes'].every(
    (name) => textAt(record, name) === undefined,
  );
}

/** Custom claims; Firebase's command line writes them as JSON text. */
function claimsOf(record: Fields): unknown {
  const claims = textAt(record, 'customAttributes') ?? objectAt(record, 'customClaims');
  return claims === '{}' || (typeof claims === 'object' && Object.keys(claims).length === 0) ? undefined : claims;
}

function hasSecondFactor(record: Fields): boolean {
  return (
    objectsAt(record, 'mfaInfo').length > 0 || objectsAt(objectAt(record, 'multiFactor'), 'enrolledFactors').length > 0
  );
}
