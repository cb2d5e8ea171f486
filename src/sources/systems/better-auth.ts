import type { Person } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { fieldNames, firstBool, firstText, listAt, restOf, textAt } from '../values.ts';

/**
 * better-auth: rows of its table `user`, each with those of `account`, as JSON or CSV. The account of the provider
 * `credential` has the password. https://www.better-auth.com/docs/concepts/database (core schema),
 * https://www.better-auth.com/docs/plugins/username, …/phone-number, …/admin (their columns)
 */

const KNOWN = fieldNames(`id name email emailVerified email_verified image createdAt created_at updatedAt updated_at
  accounts username displayUsername display_username phoneNumber phone_number phoneNumberVerified phone_number_verified
  banned twoFactorEnabled two_factor_enabled password`);

const PROVIDER = ['providerId', 'provider_id'];
const ACCOUNT = ['accountId', 'account_id'];
const CREDENTIAL = 'credential';

export const betterAuth: Source = {
  name: 'better-auth',
  title: 'better-auth',
  formats: ['json', 'ndjson', 'csv'],
  recognizes,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  if (firstBool(record, ['emailVerified', 'email_verified']) === undefined) return 0;
  const isAccount = (one: Fields) => firstText(one, PROVIDER) !== undefined && firstText(one, ACCOUNT) !== undefined;
  return listAt(record, 'accounts').some(isAccount) ? 1 : 0;
}

function convert(record: Fields): Person {
  const accounts = listAt(record, 'accounts');
  const credential = accounts.find((account) => firstText(account, PROVIDER) === CREDENTIAL);
  return {
    userId: textAt(record, 'id'),
    userName: firstText(record, ['displayUsername', 'display_username', 'username']),
    email: textAt(record, 'email'),
    emailVerified: firstBool(record, ['emailVerified', 'email_verified']),
    displayName: textAt(record, 'name'),
    phone: firstText(record, ['phoneNumber', 'phone_number']),
    phoneVerified: firstBool(record, ['phoneNumberVerified', 'phone_number_verified']),
    state: firstBool(record, ['banned']) === true ? 'inactive' : undefined,
    hash: credential && textAt(credential, 'password'),
    links: accounts.flatMap(linkOf),
    metadata: restOf(record, KNOWN),
    notes: firstBool(record, ['twoFactorEnabled', 'two_factor_enabled']) === true ? [SECOND_FACTOR_LOST] : [],
  };
}

function linkOf(account: Fields) {
  const [provider, externalUserId] = [firstText(account, PROVIDER), firstText(account, ACCOUNT)];
  if (provider === undefined || provider === CREDENTIAL || externalUserId === undefined) return [];
  return [{ provider, externalUserId }];
}
