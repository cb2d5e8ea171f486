/**
 * Devise, the login library of most Rails applications: the table of its model as JSON, NDJSON or CSV.
 * https://github.com/heartcombo/devise (lib/generators/active_record/devise_generator.rb has the columns)
 *
 * Hashes are bcrypt. With `config.pepper` they are bcrypt of password and pepper together: the pepper comes with the
 * import, as the hashes do not show it.
 */
import type { Note, Person, ProviderLink } from '../entry.ts';
import { type HashText, unsupported } from '../hashes.ts';
import { SECOND_FACTOR_LOST } from '../notes.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import { UsageError } from '../read/records.ts';
import { lostNotes } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { boolAt, listAt, parseJson, textAt } from '../values.ts';
import { type Around, tableSource, verifiedOn } from './table.ts';

/** GoTrue (Supabase) took its column names from Devise. */
const GOTRUE = ['instance_id', 'aud', 'is_sso_user', 'raw_app_meta_data', 'raw_user_meta_data', 'email_confirmed_at'];
const DEVISE = [
  'remember_created_at',
  'reset_password_sent_at',
  'sign_in_count',
  'unconfirmed_email',
  'failed_attempts',
];

export const devise = tableSource({
  name: 'devise',
  title: 'Rails Devise',
  hasUsualColumns: true,
  hashConfig:
    'If config/initializers/devise.rb sets config.pepper, the import needs it (--pepper-env), or no password verifies. ' +
    'A file with the line `pepper: …` makes these users fail instead.',
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    if (!has('encrypted_password') || GOTRUE.some(has)) return 0;
    return DEVISE.some(has) ? 0.95 : 0.6;
  },
  states: { locked: ['locked_at'], inactive: ['expired_at'], deleted: ['deleted_at', 'discarded_at'] },
  columns: {
    emailVerified: verifiedOn('confirmed_at'),
  },
  parts({ hashConfig }) {
    const isPeppered = hasPepper(hashConfig);
    return [(row) => hashOf(row, isPeppered), factorOf, newAddressOf, waysOf];
  },
  // Columns of Devise's modules and of devise_invitable; columns with secrets are dropped by name.
  dropped: `encrypted_password reset_password_sent_at remember_created_at allow_password_change sign_in_count
    current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip confirmed_at confirmation_sent_at
    unconfirmed_email failed_attempts locked_at discarded_at otp_required_for_login consumed_timestep last_activity_at
    password_changed_at webauthn_credentials webauthn_id otp_backup_codes identities`,
  links: (row, { usual }) => [...(usual.links ?? []), ...listAt(row, 'identities').flatMap(identityOf)],
  missing: [
    {
      id: 'DEVISE-IDENTITIES',
      what: 'links',
      message: 'The users table has no accounts at providers; applications often keep them in a table identities.',
      remedy: 'Join its rows (provider, uid) as JSON in the column identities.',
      isIn: (record) => Object.hasOwn(record, 'identities') || Object.hasOwn(record, 'provider'),
    },
    {
      id: 'DEVISE-PASSKEYS',
      what: 'passkey',
      message: 'The users table does not say who has a passkey; gems keep them in a table webauthn_credentials.',
      remedy: 'Join its rows as JSON in the column webauthn_credentials.',
      isIn: (record) => Object.hasOwn(record, 'webauthn_credentials'),
    },
  ],
});

const PEPPER = /pepper"?\s*[:=]\s*["']?([^"'\s]+)/;

/** @throws UsageError when the text holds no pepper */
function hasPepper(hashConfig: string | undefined): boolean {
  if (hashConfig === undefined) return false;
  if (PEPPER.test(hashConfig)) return true;
  throw new UsageError('The --hash-config file has no line `pepper: …`. If you use no pepper, leave the option out.');
}

const PEPPERED: Note = {
  id: 'HASH-PEPPERED',
  message: 'The hash was made with a pepper and cannot be verified here; the service will reject the user.',
};

/** Any other text comes from the gem devise-encryptable, whose digests depend on the application's settings. */
function hashOf(row: Fields, isPeppered: boolean): HashText {
  const text = textAt(row, 'encrypted_password');
  if (text === undefined) return {};
  if (!text.startsWith('$')) return unsupported('devise-encryptable');
  return isPeppered ? { ...unsupported('devise-pepper'), notes: [PEPPERED] } : { hash: text };
}

const BASE32 = /^[A-Z2-7]{16,}=*$/i;

/** devise-two-factor: its secret is plain text in exports by Rails, and encrypted in exports by the database. */
function factorOf(row: Fields): Partial<Person> {
  const secret = textAt(row, 'otp_secret') ?? textAt(row, 'otp_secret_key');
  const isOn = boolAt(row, 'otp_required_for_login') ?? secret !== undefined;
  if (!isOn) return {};
  return secret !== undefined && BASE32.test(secret) ? { totp: secret } : { notes: [SECOND_FACTOR_LOST] };
}

function identityOf(row: Fields): ProviderLink[] {
  const [provider, externalUserId] = [textAt(row, 'provider'), textAt(row, 'uid')];
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

/**
 * Applications with OmniAuth give users of providers a made-up password (`Devise.friendly_token`), as the column may not
 * be empty. They may have asked for one of their own since, so nobody can tell.
 * https://github.com/heartcombo/devise/wiki/OmniAuth:-Overview
 */
function waysOf(row: Fields, { usual }: Around): Partial<Person> {
  const links = [...(usual.links ?? []), ...listAt(row, 'identities').flatMap(identityOf)];
  const hasHash = textAt(row, 'encrypted_password') !== undefined;
  const passkey = listAt(row, 'webauthn_credentials').length > 0;
  const ways = signedInBy({
    password: hasHash,
    provider: links.some(({ provider }) => !isOfCompany(provider)),
    enterprise: links.some(({ provider }) => isOfCompany(provider)),
    passkey,
  });
  return {
    notes: lostNotes({ passkey, recoveryCodes: hasCodes(row) }),
    oldSignIn: hasHash && links.length > 0 ? { ...ways, password: 'perhaps' } : ways,
  };
}

/** A list of digests: JSON, or an array of PostgreSQL. */
function hasCodes(row: Fields): boolean {
  const { otp_backup_codes: codes } = row;
  const list = typeof codes === 'string' ? (parseJson(codes) ?? codes.replace(/[{}]/g, '').split(',')) : codes;
  return Array.isArray(list) && list.some((code) => code !== '');
}

const CHANGE_PENDING: Note = {
  id: 'EMAIL-CHANGE-DROPPED',
  message: 'The user requested a new address but never confirmed it; the old address is imported.',
};

function newAddressOf(row: Fields): Partial<Person> {
  return { notes: Object.hasOwn(row, 'unconfirmed_email') ? [CHANGE_PENDING] : [] };
}
