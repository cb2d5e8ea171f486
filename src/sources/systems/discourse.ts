/**
 * Discourse: rows of the tables `users`, `user_emails` and `user_passwords`, joined, as JSON or CSV.
 * https://github.com/discourse/discourse (app/models/user.rb, app/models/user_password.rb, lib/password_hasher.rb)
 *
 * The hash is hexadecimal, the salt is used as text, and `password_algorithm` is `$pbkdf2-sha256$i=600000,l=32$`.
 */
import type { Person, ProviderLink } from '../entry.ts';
import { openFactors } from '../factors.ts';
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import type { Fields } from '../source.ts';
import { boolAt, firstText, listAt, numberAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const ALGORITHM = /^\$?pbkdf2-sha256\$i=(\d+),l=32\$?$/;
const ID = ['user_id', 'id'];

export const discourse = tableSource({
  name: 'discourse',
  title: 'Discourse',
  isDatabase: true,
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    return has('username') && has('password_algorithm') && (has('password_hash') || has('trust_level'));
  },
  // The system users have negative ids.
  skip: (row) => (firstText(row, ID)?.startsWith('-') ? 'A system user of Discourse.' : undefined),
  states: { inactiveUntil: ['suspended_till'], active: ['approved'] },
  columns: {
    userId: ID,
    userName: 'username',
    email: 'email',
    // Discourse activates an account when its address is confirmed.
    emailVerified: 'active',
    displayName: 'name',
    language: 'locale',
  },
  missing: [
    {
      id: 'DISCOURSE-ACCOUNTS',
      what: 'links',
      message: 'The tables of users and passwords contain no accounts at providers.',
      remedy:
        'Join the rows of user_associated_accounts as JSON in the column associated_accounts, and external_id of single_sign_on_records as sso_external_id, as docs/sources/discourse.md shows.',
      isIn: (record) => Object.hasOwn(record, 'associated_accounts'),
    },
    {
      id: 'DISCOURSE-SECOND-FACTORS',
      what: 'secondFactor',
      message: 'The tables of users and passwords contain no second factors and backup codes.',
      remedy: 'Join the rows of user_second_factors as JSON in the column second_factors.',
      isIn: (record) => Object.hasOwn(record, 'second_factors'),
    },
    {
      id: 'DISCOURSE-SECURITY-KEYS',
      what: 'passkey',
      message: 'The tables of users and passwords contain no passkeys and security keys.',
      remedy: 'Join the rows of user_security_keys as JSON in the column security_keys.',
      isIn: (record) => Object.hasOwn(record, 'security_keys'),
    },
    {
      id: 'DISCOURSE-GROUPS',
      what: 'roles',
      message: 'The tables of users and passwords contain no groups.',
      remedy: 'Join the names of groups, by group_users, as JSON in the column groups; it becomes metadata.',
      isIn: (record) => Object.hasOwn(record, 'groups'),
    },
  ],
  parts: [hashOf, factorsOf],
  links: (row) => [...listAt(row, 'associated_accounts').flatMap(accountOf), ...ssoOf(row)],
  dropped: `associated_accounts sso_external_id second_factors security_keys username_lower password_hash password_salt salt password_algorithm password_expired_at approved approved_at
    suspended_at suspended_till staged seen_notification_id last_posted_at previous_visit_at first_seen_at
    last_emailed_at views flag_level ip_address registration_ip_address primary normalized_email date_of_birth
    uploaded_avatar_id silenced_till`,
});

function hashOf(row: Fields): HashText {
  const text = textAt(row, 'password_hash');
  if (text === undefined) return {};
  const rounds = ALGORITHM.exec(textAt(row, 'password_algorithm') ?? '')?.[1];
  const [salt, digest] = [firstText(row, ['password_salt', 'salt']), bytesOf(text, 'hex')];
  if (rounds === undefined || salt === undefined || !digest) return unsupported('discourse-no-algorithm');
  return { hash: pbkdf2Text('sha256', Number(rounds), Buffer.from(salt), digest) };
}

function accountOf(account: Fields): ProviderLink[] {
  const [provider, externalUserId] = [textAt(account, 'provider_name'), textAt(account, 'provider_uid')];
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

/** The user's id at the site that signs them in by DiscourseConnect. */
function ssoOf(row: Fields): ProviderLink[] {
  const externalUserId = textAt(row, 'sso_external_id');
  return externalUserId === undefined ? [] : [{ provider: 'discourse_connect', externalUserId }];
}

/** Numbers of UserSecondFactor.methods and of UserSecurityKey.factor_types. */
const [TOTP, BACKUP_CODES, FIRST_FACTOR] = [1, 2, 1];

/** Backup codes are digests whose rounds no export names. https://github.com/discourse/discourse (app/models) */
function factorsOf(row: Fields): Partial<Person> {
  const enabled = (column: string) => listAt(row, column).filter((one) => boolAt(one, 'enabled') !== false);
  const factors = openFactors();
  for (const factor of enabled('second_factors')) {
    const method = numberAt(factor, 'method');
    if (method === TOTP) factors.app({ secret: textAt(factor, 'data'), name: textAt(factor, 'name') });
    if (method === BACKUP_CODES) factors.lost('recoveryCodes');
  }
  const keys = enabled('security_keys');
  for (const key of keys) {
    factors.passkey({
      credentialId: key.credential_id,
      publicKey: key.public_key,
      name: textAt(key, 'name'),
      secondFactorOnly: numberAt(key, 'factor_type') !== FIRST_FACTOR,
    });
  }
  const passkey = keys.some((key) => numberAt(key, 'factor_type') === FIRST_FACTOR);
  const accounts = listAt(row, 'associated_accounts').flatMap(accountOf);
  return {
    ...factors.fields({}),
    oldSignIn: signedInBy({
      password: textAt(row, 'password_hash') !== undefined,
      provider: accounts.some(({ provider }) => !isOfCompany(provider)),
      enterprise: accounts.some(({ provider }) => isOfCompany(provider)) || ssoOf(row).length > 0,
      passkey,
    }),
  };
}
