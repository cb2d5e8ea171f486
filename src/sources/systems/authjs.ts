/**
 * Auth.js (NextAuth): rows of its table `users`, each with its rows of `accounts`, as JSON or CSV. It has no passwords;
 * applications with a Credentials provider often add a column for their own hash.
 * https://authjs.dev/getting-started/adapters/pg (schema), https://authjs.dev/concepts/database-models
 */
import { firstText, listAt } from '../values.ts';
import { tableSource } from './table.ts';

const EXTERNAL_ID = ['providerAccountId', 'provider_account_id'];

export const authjs = tableSource({
  name: 'authjs',
  title: 'Auth.js',
  recognizes: (record) => listAt(record, 'accounts').some((account) => firstText(account, EXTERNAL_ID) !== undefined),
  columns: {
    userId: ['id', '_id'],
    email: 'email',
    // A date, or null.
    emailVerified: (record) => firstText(record, ['emailVerified', 'email_verified']) !== undefined,
    displayName: 'name',
    hash: ['password', 'hashedPassword', 'passwordHash'],
  },
  links: { list: 'accounts', provider: ['provider'], id: EXTERNAL_ID },
  dropped: 'emailVerified email_verified image',
});
