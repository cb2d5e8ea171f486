/**
 * better-auth: rows of its table `user`, each with its rows of `account`, as JSON or CSV. The account of the provider
 * `credential` has the password. https://www.better-auth.com/docs/concepts/database (core schema),
 * https://www.better-auth.com/docs/plugins/username, …/phone-number, …/admin (their columns)
 */
import type { Person } from '../entry.ts';
import { openFactors } from '../factors.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { firstBool, firstText, listAt, numberAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const PROVIDER = ['providerId', 'provider_id'];
const ACCOUNT = ['accountId', 'account_id'];
const CREDENTIAL = 'credential';
const VERIFIED = ['emailVerified', 'email_verified'];

export const betterAuth = tableSource({
  name: 'better-auth',
  title: 'better-auth',
  recognizes: (record) => firstBool(record, VERIFIED) !== undefined && listAt(record, 'accounts').some(isAccount),
  states: { inactive: ['banned'] },
  columns: {
    userId: 'id',
    userName: ['displayUsername', 'display_username', 'username'],
    email: 'email',
    emailVerified: VERIFIED,
    displayName: 'name',
    phone: ['phoneNumber', 'phone_number'],
    phoneVerified: ['phoneNumberVerified', 'phone_number_verified'],
    hash: hashOf,
  },
  missing: [
    {
      id: 'BETTER-AUTH-PASSKEYS',
      what: 'passkey',
      message: 'The tables user and account of better-auth do not say who has a passkey.',
      remedy: 'Join the rows of the table passkey as JSON in the column passkeys.',
      isIn: (record) => Object.hasOwn(record, 'passkeys'),
    },
    {
      id: 'BETTER-AUTH-MEMBERS',
      what: 'roles',
      message: 'The tables user and account of better-auth contain no organizations.',
      remedy: 'Join the rows of the table member as JSON in the column members; it becomes metadata.',
      isIn: (record) => Object.hasOwn(record, 'members'),
    },
  ],
  parts: [waysOf],
  links: { list: 'accounts', provider: PROVIDER, id: ACCOUNT, own: CREDENTIAL },
  dropped: 'createdAt created_at updatedAt updated_at banned twoFactorEnabled two_factor_enabled password passkeys',
});

function isAccount(account: Fields): boolean {
  return firstText(account, PROVIDER) !== undefined && firstText(account, ACCOUNT) !== undefined;
}

function hashOf(record: Fields): string | undefined {
  const accounts = listAt(record, 'accounts');
  const credential = accounts.find((account) => firstText(account, PROVIDER) === CREDENTIAL);
  return credential && textAt(credential, 'password');
}

/**
 * Passkeys of the table passkey (https://www.better-auth.com/docs/plugins/passkey). Whoever turns on a second factor gets
 * backup codes with it; both are encrypted in the table twoFactor, with the secret of the application.
 */
function waysOf(record: Fields): Partial<Person> {
  const providers = listAt(record, 'accounts').flatMap((account) => firstText(account, PROVIDER) ?? []);
  const elsewhere = providers.filter((provider) => provider !== CREDENTIAL);
  const hasFactor = firstBool(record, ['twoFactorEnabled', 'two_factor_enabled']) === true;
  const passkey = listAt(record, 'passkeys').length > 0;
  const isByCode = providers.length === 0 && !passkey;
  return {
    ...factorsOf(record, hasFactor),
    oldSignIn: signedInBy({
      password: hashOf(record) !== undefined,
      mailCode: isByCode && textAt(record, 'email') !== undefined,
      sms: isByCode && firstText(record, ['phoneNumber', 'phone_number']) !== undefined,
      provider: elsewhere.some((provider) => !isOfCompany(provider)),
      enterprise: elsewhere.some(isOfCompany),
      passkey,
    }),
  };
}

function factorsOf(record: Fields, hasFactor: boolean) {
  const factors = openFactors();
  if (hasFactor) factors.lost('secondFactor', 'recoveryCodes');
  for (const passkey of listAt(record, 'passkeys')) {
    factors.passkey({
      credentialId: firstText(passkey, ['credentialID', 'credentialId', 'credential_id']),
      publicKey: firstText(passkey, ['publicKey', 'public_key']),
      signCount: numberAt(passkey, 'counter'),
      transports: passkey.transports,
      name: textAt(passkey, 'name'),
      backedUp: firstBool(passkey, ['backedUp', 'backed_up']),
    });
  }
  return factors.fields({});
}
