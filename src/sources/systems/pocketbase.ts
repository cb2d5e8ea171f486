/**
 * PocketBase: records of an auth collection such as `users`, from its API (without hashes) or from its SQLite database.
 * https://pocketbase.io/docs/api-records/, https://pocketbase.io/docs/collections/#auth-collection
 */
import { tableSource } from './table.ts';

export const pocketbase = tableSource({
  name: 'pocketbase',
  title: 'PocketBase',
  jsonPaths: [['items', '*']],
  recognizes: ['emailVisibility', 'verified'],
  columns: {
    userId: 'id',
    userName: 'username',
    email: 'email',
    emailVerified: 'verified',
    displayName: 'name',
    // `passwordHash` before version 0.23.
    hash: ['password', 'passwordHash'],
  },
  dropped: `collectionId collectionName emailVisibility avatar created updated tokenKey lastResetSentAt
    lastVerificationSentAt lastLoginAlertSentAt expand`,
});
