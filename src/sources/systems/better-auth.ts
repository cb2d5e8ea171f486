/**
 * better-auth: rows of its table `user`, each with its rows of `account`, as JSON or CSV. The account of the provider
 * `credential` has the password. https://www.better-auth.com/docs/concepts/database (core schema),
 * https://www.better-auth.com/docs/plugins/username, …/phone-number, …/admin (their columns)
 */
import type { Fields } from '../source.ts';
import { firstBool, firstText, listAt, textAt } from '../values.ts';
import { factorLostIf, tableSource } from './table.ts';

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
    hash(record) {
      const accounts = listAt(record, 'accounts');
      const credential = accounts.find((account) => firstText(account, PROVIDER) === CREDENTIAL);
      return credential && textAt(credential, 'password');
    },
  },
  parts: [factorLostIf('twoFactorEnabled', 'two_factor_enabled')],
  links: { list: 'accounts', provider: PROVIDER, id: ACCOUNT, own: CREDENTIAL },
  dropped: 'image createdAt created_at updatedAt updated_at banned twoFactorEnabled two_factor_enabled password',
});

function isAccount(account: Fields): boolean {
  return firstText(account, PROVIDER) !== undefined && firstText(account, ACCOUNT) !== undefined;
}
