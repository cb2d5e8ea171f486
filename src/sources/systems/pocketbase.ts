import type { Person } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, firstText, restOf, textAt } from '../values.ts';

/**
 * PocketBase: records of an auth collection such as `users`, from its API (without hashes) or from its SQLite database.
 * https://pocketbase.io/docs/api-records/, https://pocketbase.io/docs/collections/#auth-collection
 */

const KNOWN =
  fieldNames(`collectionId collectionName id email emailVisibility verified username name avatar created updated
  password passwordHash tokenKey lastResetSentAt lastVerificationSentAt lastLoginAlertSentAt expand`);

export const pocketbase: Source = {
  name: 'pocketbase',
  title: 'PocketBase',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['items', '*']],
  recognizes: (record) => (Object.hasOwn(record, 'emailVisibility') && Object.hasOwn(record, 'verified') ? 1 : 0),
  converter: () => convert,
};

function convert(record: Fields): Person {
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'verified'),
    displayName: textAt(record, 'name'),
    // `passwordHash` before version 0.23.
    hash: firstText(record, ['password', 'passwordHash']),
    metadata: restOf(record, KNOWN),
  };
}
