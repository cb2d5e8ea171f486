import type { Person } from '../entry.ts';
import type { Fields, Source } from '../source.ts';
import { fieldNames, firstText, listAt, restOf, textAt } from '../values.ts';

/**
 * Auth.js (NextAuth): rows of its table `users`, each with those of `accounts`, as JSON or CSV. It has no passwords;
 * applications with a Credentials provider often add a column for their own hash.
 * https://authjs.dev/getting-started/adapters/pg (schema), https://authjs.dev/concepts/database-models
 */

const KNOWN = fieldNames(
  'id _id name email emailVerified email_verified image accounts password hashedPassword passwordHash',
);
const HASH = ['password', 'hashedPassword', 'passwordHash'];
const EXTERNAL_ID = ['providerAccountId', 'provider_account_id'];

export const authjs: Source = {
  name: 'authjs',
  title: 'Auth.js',
  formats: ['json', 'ndjson', 'csv'],
  recognizes: (record) =>
    listAt(record, 'accounts').some((account) => firstText(account, EXTERNAL_ID) !== undefined) ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  return {
    userId: textAt(record, 'id') ?? textAt(record, '_id'),
    email: textAt(record, 'email'),
    // A date, or null.
    emailVerified: firstText(record, ['emailVerified', 'email_verified']) !== undefined,
    displayName: textAt(record, 'name'),
    hash: firstText(record, HASH),
    links: listAt(record, 'accounts').flatMap((account) => {
      const [provider, externalUserId] = [textAt(account, 'provider'), firstText(account, EXTERNAL_ID)];
      return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
    }),
    metadata: restOf(record, KNOWN),
  };
}
