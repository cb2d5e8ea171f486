/**
 * PocketBase: records of an auth collection such as `users`, from its API (without hashes) or from its SQLite database.
 * https://pocketbase.io/docs/api-records/, https://pocketbase.io/docs/collections/#auth-collection
 *
 * Trap: PocketBase makes up a password for a user who signs up by a provider (apis/record_auth_with_oauth2.go of
 * https://github.com/pocketbase/pocketbase). The accounts at providers are in its table `_externalAuths`.
 */
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { present, textAt } from '../values.ts';
import { tableSource } from './table.ts';

export const pocketbase = tableSource({
  name: 'pocketbase',
  title: 'PocketBase',
  missing: [
    {
      id: 'POCKETBASE-LINKS',
      what: 'links',
      message:
        'These files do not contain the accounts of users at providers, nor who got a made-up password with one.',
      remedy:
        'Export the users with the query of docs/sources/pocketbase.md, which joins _externalAuths as external_auths.',
      isIn: hasField('external_auths'),
    },
    {
      id: 'POCKETBASE-PASSWORDS',
      what: 'password',
      message: 'The API of PocketBase returns no password hashes.',
      remedy: 'Export the users from its database (docs/sources/pocketbase.md).',
      isIn: hasField('password', 'passwordHash'),
    },
  ],
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
  links: { list: 'external_auths', provider: ['provider'], id: ['providerId'] },
  signIn: (_row, { hash, links = [] }) =>
    oldSignInOf(
      { password: hash !== undefined, links },
      hash !== undefined && links.length > 0 ? 'perhaps' : undefined,
    ),
  metadata: (row, rest) => present({ ...rest, picture: textAt(row, 'avatar') }),
  dropped: `collectionId collectionName emailVisibility avatar created updated tokenKey lastResetSentAt
    lastVerificationSentAt lastLoginAlertSentAt expand`,
});
