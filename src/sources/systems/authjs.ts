/**
 * Auth.js (NextAuth): rows of its table `users`, each with its rows of `accounts`, as JSON or CSV. It has no passwords;
 * applications with a Credentials provider often add a column for their own hash.
 * https://authjs.dev/getting-started/adapters/pg (schema), https://authjs.dev/concepts/database-models
 */
import type { Person, ProviderLink } from '../entry.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { firstText, listAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const EXTERNAL_ID = ['providerAccountId', 'provider_account_id'];
const HASH = ['password', 'hashedPassword', 'passwordHash'];

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
    hash: HASH,
  },
  missing: [
    {
      id: 'AUTHJS-AUTHENTICATORS',
      what: 'passkey',
      message: 'The tables users and accounts of Auth.js do not say who has a passkey.',
      remedy: 'Join the rows of the table Authenticator as JSON in the column authenticators.',
      isIn: (record) => Object.hasOwn(record, 'authenticators'),
    },
  ],
  parts: [waysOf],
  links: (record) => listAt(record, 'accounts').flatMap(linkOf),
  dropped: 'emailVerified email_verified accounts authenticators',
});

/** The account of a passkey has the id of the credential, so it is no account elsewhere. */
function isPasskey(account: Fields): boolean {
  return textAt(account, 'type') === 'webauthn';
}

function linkOf(account: Fields): ProviderLink[] {
  const [provider, externalUserId] = [textAt(account, 'provider'), firstText(account, EXTERNAL_ID)];
  return isPasskey(account) || provider === undefined || externalUserId === undefined
    ? []
    : [{ provider, externalUserId }];
}

/** A user without an account signed in by a link in a mail, as no other way of Auth.js needs none. */
function waysOf(record: Fields): Partial<Person> {
  const accounts = listAt(record, 'accounts');
  const links = accounts.flatMap(linkOf);
  const passkey = accounts.some(isPasskey) || listAt(record, 'authenticators').length > 0;
  const password = firstText(record, HASH) !== undefined;
  return {
    notes: lostNotes({ passkey }),
    oldSignIn: signedInBy({
      password,
      mailCode: !password && !passkey && links.length === 0,
      provider: links.some(({ provider }) => !isOfCompany(provider)),
      enterprise: links.some(({ provider }) => isOfCompany(provider)),
      passkey,
    }),
  };
}
