/**
 * Logto: users of its API (`GET /api/users`, without hashes) and rows of its table `users`, as JSON or CSV.
 * https://openapi.logto.io/operation/operation-listusers; https://github.com/logto-io/logto (packages/schemas/tables/users.sql)
 */
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Note, Person } from '../../person.ts';
import { fieldNames, restOf } from '../../rest.ts';
import type { Fields, Source } from '../../source.ts';
import { firstBool, firstText, isFields, jsonAt, listAt, textAt } from '../../values.ts';
import { hashOf } from './hash.ts';

const KNOWN =
  fieldNames(`tenant_id id username primaryEmail primary_email primaryPhone primary_phone name avatar customData
  custom_data identities ssoIdentities profile isSuspended is_suspended hasPassword passwordEncrypted password_encrypted
  passwordEncryptionMethod password_encryption_method lastSignInAt last_sign_in_at createdAt created_at updatedAt updated_at
  mfaVerifications mfa_verifications mfaVerificationFactors logtoConfig logto_config passwordUpdatedAt password_updated_at
  isPasswordExpired is_password_expired`);

const ADDRESS_VERIFIED: Note = {
  id: 'LOGTO-ADDRESS-VERIFIED',
  message:
    'Logto has no mark for verified addresses: it verifies each one before it stores it, so it counts as verified.',
};

export const logto: Source = {
  name: 'logto',
  title: 'Logto',
  formats: ['json', 'ndjson', 'csv'],
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    const isOfTable = has('primary_email') && has('password_encryption_method');
    return isOfTable || (has('primaryEmail') && has('isSuspended') && has('identities')) ? 1 : 0;
  },
  converter: () => convert,
};

function convert(record: Fields): Person {
  const profile = jsonAt(record, 'profile');
  const email = firstText(record, ['primaryEmail', 'primary_email']);
  const phone = firstText(record, ['primaryPhone', 'primary_phone']);
  const { totp, notes } = factorsOf(record);
  const { hash, notes: ofHash = [] } = hashOf(record);
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email,
    emailVerified: email === undefined ? undefined : true,
    firstName: textAt(profile, 'givenName'),
    lastName: textAt(profile, 'familyName'),
    displayName: textAt(record, 'name'),
    nickName: textAt(profile, 'nickname'),
    language: textAt(profile, 'locale'),
    // Logto stores numbers without the plus sign.
    phone: phone?.replace(/^(?=[1-9])/, '+'),
    phoneVerified: phone === undefined ? undefined : true,
    state: firstBool(record, ['isSuspended', 'is_suspended']) === true ? 'inactive' : undefined,
    hash,
    totp,
    passwordChangeRequired: firstBool(record, ['isPasswordExpired', 'is_password_expired']),
    links: linksOf(jsonAt(record, 'identities')),
    metadata: { ...jsonAt(record, 'customData'), ...jsonAt(record, 'custom_data'), ...restOf(record, KNOWN) },
    notes: [...ofHash, ...notes, ...(email === undefined ? [] : [ADDRESS_VERIFIED])],
  };
}

/** `{"google":{"userId":"…"}}` */
function linksOf(identities: Fields) {
  return Object.entries(identities).flatMap(([provider, identity]) => {
    const externalUserId = isFields(identity) ? textAt(identity, 'userId') : undefined;
    return externalUserId === undefined ? [] : [{ provider, externalUserId }];
  });
}

function factorsOf(record: Fields): Pick<Person, 'totp'> & { notes: Note[] } {
  const factors = [...listAt(record, 'mfaVerifications'), ...listAt(record, 'mfa_verifications')];
  const totp = factors.filter((one) => textAt(one, 'type') === 'Totp').map((one) => textAt(one, 'key'))[0];
  const isOther = factors.some((one) => textAt(one, 'type') === 'WebAuthn');
  return { totp, notes: isOther && totp === undefined ? [SECOND_FACTOR_LOST] : [] };
}
