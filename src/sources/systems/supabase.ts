/**
 * Supabase Auth (GoTrue): rows of its table `auth.users` as CSV or JSON, and users as its admin API lists them, without
 * hashes. Databases write objects as JSON texts, booleans as `false` or `f`, and absent values as an empty text or
 * `null`.
 *
 * Guarantee: nothing that an application wrote is lost. Data that does not become a field goes into the metadata.
 * https://supabase.com/docs/guides/auth/users, …/managing-user-data, …/identities
 * https://github.com/supabase/auth (internal/models)
 *
 * Trap: GoTrue makes up passwords. Who came by a link or a code in a mail or a text message, by an invitation, or was made
 * by an administrator has a hash of 64 random characters (`password.Generate` in internal/api: magic_link.go, otp.go,
 * mail.go, verify.go, admin.go). Who came by a provider has no hash.
 */
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, goPasskey, openFactors } from '../factors.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, genderOf, jsonAt, listAt, numberAt, parseJson, textAt } from '../values.ts';

/** Columns that only this table has. */
const OWN_COLUMNS = [
  'raw_app_meta_data',
  'raw_user_meta_data',
  'email_confirmed_at',
  'is_sso_user',
  'phone_confirmed_at',
];
const HASH = 'encrypted_password';

const JOIN = 'Export the users with the query of docs/sources/supabase.md, which joins';

const MISSING: readonly Missing[] = [
  {
    id: 'SUPABASE-SESSIONS',
    what: 'password',
    message:
      'These files do not say by which methods users signed in, so nobody can tell passwords that users chose from those that Supabase made up.',
    remedy: `${JOIN} auth.mfa_amr_claims as amr_claims; or decide with --unknown-passwords.`,
    isIn: hasField('amr_claims'),
  },
  {
    id: 'SUPABASE-IDENTITIES',
    what: 'links',
    message: 'These files do not contain the accounts of users at external providers.',
    remedy: `${JOIN} auth.identities as identities.`,
    isIn: hasField('identities'),
  },
  {
    id: 'SUPABASE-FACTORS',
    what: 'secondFactor',
    message: 'These files do not contain second factors with their secrets.',
    remedy: `${JOIN} auth.mfa_factors as factors.`,
    // The API lists factors without their secrets.
    isIn: (record) => 'factors' in record && listAt(record, 'factors').every((factor) => 'secret' in factor),
  },
  {
    id: 'SUPABASE-PASSKEYS',
    what: 'passkey',
    message: 'These files do not say which users have passkeys.',
    remedy: `${JOIN} auth.webauthn_credentials, where the database has this table, as passkeys.`,
    isIn: hasField('passkeys'),
  },
];

export const supabase: ExportFormat = {
  name: 'supabase',
  title: 'Supabase Auth',
  formats: ['csv', 'json', 'ndjson'],
  jsonPaths: [['users', '*']],
  missing: MISSING,
  recognizes(record) {
    if (textAt(record, 'id') === undefined) return 0;
    if ('encrypted_password' in record) return OWN_COLUMNS.some((name) => name in record) ? 1 : 0;
    if ('raw_app_meta_data' in record || 'raw_user_meta_data' in record) return 0.9;
    return 'aud' in record && 'app_metadata' in record && 'user_metadata' in record ? 1 : 0;
  },
  converter() {
    const now = Date.now();
    // Some programs leave out fields without a value, so one record alone does not tell.
    let hasHashes = false;
    return (record) => {
      hasHashes ||= HASH in record;
      return convert(withoutNulls(record), { now, hasHashes });
    };
  },
};

/** Some programs write `null` and `\N` for absent values. */
function withoutNulls(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, isNull(value) ? '' : value]));
}

function isNull(value: unknown): boolean {
  return value === 'null' || value === 'NULL' || value === '\\N';
}

interface Export {
  now: number;
  /** An earlier record had a field for the hash. */
  hasHashes: boolean;
}

const STATES = { inactiveUntil: ['banned_until'] };

function convert(record: Fields, { now, hasHashes }: Export): Person | Skipped {
  if (textAt(record, 'deleted_at') !== undefined) return { skip: 'A deleted user.' };
  if (boolAt(record, 'is_anonymous') === true) return { skip: 'An anonymous user.' };
  const read = readSystemState(record, STATES, now);
  if (read.skip !== undefined) return { skip: read.skip };
  const { notes } = read;
  const hash = hashOf(record, hasHashes, notes);
  const links = linksOf(record, notes);
  const email = textAt(record, 'email');
  const emailVerified = isEmailVerified(record);
  const { notes: lost, ...factors } = factorsOf(record).fields({ email, emailVerified, ...phoneOf(record) });
  notes.push(...lost);
  return {
    userId: textAt(record, 'id'),
    email,
    emailVerified,
    ...profileOf(record),
    ...phoneOf(record),
    ...factors,
    state: read.state ?? 'active',
    hash,
    metadata: {
      user_metadata: userMetadataOf(record),
      app_metadata: appMetadataOf(record),
      role: textAt(record, 'role') === 'authenticated' ? undefined : textAt(record, 'role'),
      is_sso_user: boolAt(record, 'is_sso_user') === true ? true : undefined,
    },
    links,
    oldSignIn: signInOf(record, hash, links),
    notes,
  };
}

/**
 * By `email_confirmed_at` alone: `confirmed_at` is the earlier of it and the phone's. The admin API omits empty fields.
 */
function isEmailVerified(record: Fields): boolean | undefined {
  if ('email_confirmed_at' in record) return textAt(record, 'email_confirmed_at') !== undefined;
  if ('confirmed_at' in record && textAt(record, 'phone') === undefined)
    return textAt(record, 'confirmed_at') !== undefined;
  return 'app_metadata' in record ? false : undefined;
}

const NO_HASHES: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message:
    'The record has no field encrypted_password, which the admin API never returns; a user with a password must set a new one.',
};

const ENCRYPTED: Note = {
  id: 'HASH-ENCRYPTED',
  message: 'The hash is encrypted with a database key (GOTRUE_SECURITY_DB_ENCRYPTION) and cannot be read.',
};

/** The hash, unchanged: GoTrue writes bcrypt, argon2 and `$fbscrypt$`, and the service judges any other text. */
function hashOf(record: Fields, hasHashes: boolean, notes: Note[]): string | undefined {
  const hash = textAt(record, HASH);
  if (hash === undefined) {
    if (!hasHashes) notes.push(NO_HASHES);
    return undefined;
  }
  if (!hash.startsWith('{') || parseJson(hash) === undefined) return hash;
  notes.push(ENCRYPTED);
  return '$gotrue-encrypted$';
}

const FIRST_NAMES = ['first_name', 'given_name', 'firstName', 'givenName'];
const LAST_NAMES = ['last_name', 'family_name', 'lastName', 'familyName'];
const DISPLAY_NAMES = ['full_name', 'display_name', 'name', 'displayName', 'fullName'];
const NICK_NAMES = ['nickname', 'nickName'];
const LANGUAGES = ['locale', 'language'];
const PROFILE = [FIRST_NAMES, LAST_NAMES, DISPLAY_NAMES, NICK_NAMES, LANGUAGES].flat();

function userMetadataOf(record: Fields): Fields | undefined {
  const profile: readonly unknown[] = Object.values(profileOf(record));
  const data = userDataOf(record);
  return rest(data, (name) => {
    if (name === 'email' || name === 'phone') return textAt(data, name) === textAt(record, name);
    return PROFILE.includes(name) && profile.includes(textAt(data, name));
  });
}

/** The user's own data: `raw_user_meta_data` in the table, `user_metadata` in the API. */
function userDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'user_metadata'), ...jsonAt(record, 'raw_user_meta_data') };
}

/** Written by GoTrue itself. */
const BOOKKEEPING = ['sub', 'iss', 'provider_id', 'email_verified', 'phone_verified', 'provider', 'providers'];

function rest(data: Fields, isSaid: (name: string) => boolean): Fields | undefined {
  const left = Object.keys(data).filter((name) => !BOOKKEEPING.includes(name) && data[name] !== null && !isSaid(name));
  return left.length > 0 ? Object.fromEntries(left.map((name) => [name, data[name]])) : undefined;
}

function appMetadataOf(record: Fields): Fields | undefined {
  return rest(appDataOf(record), () => false);
}

/** The application's data, such as roles: `raw_app_meta_data`, `app_metadata`. */
function appDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'app_metadata'), ...jsonAt(record, 'raw_app_meta_data') };
}

/** GoTrue stores numbers without their plus sign. */
function phoneOf(record: Fields): Pick<Person, 'phone' | 'phoneVerified'> {
  const phone = numberOf(record);
  return phone === undefined ? {} : { phone, phoneVerified: textAt(record, 'phone_confirmed_at') !== undefined };
}

function numberOf(record: Fields): string | undefined {
  const phone = textAt(record, 'phone');
  return phone !== undefined && /^[1-9][0-9]{6,14}$/.test(phone) ? `+${phone}` : phone;
}

type Profile = Pick<Person, 'firstName' | 'lastName' | 'displayName' | 'nickName' | 'language' | 'gender'>;

/** Columns that were joined to the table take precedence over the user's own data. */
function profileOf(record: Fields): Profile {
  const data = userDataOf(record);
  const anyOf = (names: readonly string[]) =>
    [record, data].flatMap((fields) => names.map((name) => textAt(fields, name))).find((text) => text !== undefined);
  return {
    firstName: anyOf(FIRST_NAMES),
    lastName: anyOf(LAST_NAMES),
    displayName: anyOf(DISPLAY_NAMES),
    nickName: anyOf(NICK_NAMES),
    language: anyOf(LANGUAGES),
    gender: genderOf(textAt(data, 'gender')),
  };
}

const LINKS_DROPPED: Note = {
  id: 'LINK-NOT-EXPORTED',
  message:
    "The user logs in with an external provider, but the export lacks the user's id there: join auth.identities to it.",
};

/**
 * The user's identities at external providers. They are in the table `auth.identities`, which an export may have joined
 * as a JSON column `identities`, as the admin API does.
 */
function linksOf(record: Fields, notes: Note[]): ProviderLink[] {
  const links = listAt(record, 'identities').flatMap(linkOf);
  if (links.length > 0) return links;
  const providers = providersOf(record);
  const only = providers.length === 1 ? textAt(userDataOf(record), 'provider_id') : undefined;
  if (only !== undefined)
    return [{ provider: providers[0] as string, externalUserId: only, displayName: nameOf(userDataOf(record)) }];
  if (providers.length > 0) notes.push(LINKS_DROPPED);
  return [];
}

/** GoTrue's own sign-in methods, which are not external providers. */
const OWN_METHODS = ['email', 'phone', 'anonymous_users'];

/** The id is `provider_id`; before 2023 it was `id`, which the API still uses. */
function linkOf(identity: Fields): ProviderLink[] {
  const provider = textAt(identity, 'provider');
  const data = jsonAt(identity, 'identity_data');
  const externalUserId = textAt(identity, 'provider_id') ?? textAt(data, 'sub') ?? textAt(identity, 'id');
  if (provider === undefined || externalUserId === undefined || OWN_METHODS.includes(provider)) return [];
  return [{ provider, externalUserId, displayName: nameOf(data) }];
}

function nameOf(data: Fields): string | undefined {
  return textAt(data, 'full_name') ?? textAt(data, 'name') ?? textAt(data, 'email');
}

function providersOf(record: Fields): string[] {
  const { provider, providers } = appDataOf(record);
  const named = Array.isArray(providers) ? providers : [provider];
  return named.filter((name) => typeof name === 'string').filter((name) => !OWN_METHODS.includes(name));
}

/**
 * The verified factors of the table `auth.mfa_factors`, which an export may have joined as a JSON column `factors`; the
 * API lists them without their secrets. Passkeys and recovery codes are rows of tables of their own, joined likewise.
 */
function factorsOf(record: Fields): Factors {
  const factors = openFactors();
  for (const factor of listAt(record, 'factors')) {
    if (textAt(factor, 'status') === 'verified') addFactor(factor, factors);
  }
  for (const passkey of listAt(record, 'passkeys')) {
    factors.passkey({
      credentialId: passkey.credential_id,
      publicKey: passkey.public_key,
      signCount: numberAt(passkey, 'sign_count'),
      transports: passkey.transports,
      name: textAt(passkey, 'friendly_name'),
      backedUp: boolAt(passkey, 'backed_up'),
    });
  }
  const codes = listAt(record, 'recovery_codes').filter((code) => textAt(code, 'consumed_at') === undefined);
  const hashes = codes.flatMap((code) => textAt(code, 'code_hash') ?? []);
  if (hashes.length < codes.length) factors.lost('recoveryCodes');
  // https://github.com/supabase/auth (internal/crypto/recovery_codes.go): argon2id of the code in lower case
  factors.recoveryCodes(hashes.map((hash) => ({ hash, scheme: 'mcf' })));
  return factors;
}

/** A secret that is encrypted with a database key is JSON text, and lost. The set of recovery codes has a row here too. */
function addFactor(factor: Fields, factors: Factors): void {
  const type = textAt(factor, 'factor_type') ?? '';
  if (type.includes('recovery')) return;
  const name = textAt(factor, 'friendly_name');
  const phone = numberOf(factor);
  const key = jsonAt(factor, 'web_authn_credential');
  if (type === 'totp') factors.app({ secret: textAt(factor, 'secret'), name });
  else if (type === 'phone' && phone !== undefined) factors.sms(phone);
  else if (type === 'webauthn') factors.passkey({ ...goPasskey(key), name, secondFactorOnly: true });
  else factors.lost('secondFactor');
}

/** How the user signed in: by the methods of their sessions, or else as far as the other columns tell. */
function signInOf(record: Fields, hash: string | undefined, links: readonly ProviderLink[]): OldSignIn | undefined {
  const methods = listAt(record, 'amr_claims').map(methodOf);
  const password = hash === undefined ? undefined : passwordKnowledge(record, hash);
  const providers = [...providersOf(record), ...links.map(({ provider }) => provider)];
  const isSso = (name: string) => name.startsWith('sso');
  const byCode = methods.some((method) => BY_CODE.includes(method));
  const hasAddress = textAt(record, 'email') !== undefined;
  return oldSignInOf(
    {
      password: methods.includes('password') || (hash !== undefined && password !== 'unknown'),
      // Who has neither a password nor a provider can only have come by a mail or a text message.
      mailCode: hasAddress && (byCode || (hash === undefined && providers.length === 0)),
      sms: !hasAddress && textAt(record, 'phone') !== undefined,
      provider: providers.some((name) => !isSso(name)),
      enterprise: providers.some(isSso) || methods.includes('sso/saml') || boolAt(record, 'is_sso_user') === true,
      passkey: methods.includes('passkey') || listAt(record, 'passkeys').length > 0,
    },
    password,
  );
}

/** Methods of sessions that began with a link or a code in a mail or a text message. */
const BY_CODE = ['otp', 'magiclink', 'email/signup', 'invite'];
/** Hashes that GoTrue makes itself; others were brought along by an import, with a password that the user chose. */
const OWN_HASH = /^\$2|^\$gotrue-encrypted\$/;
/** A session that begins so soon after another moment belongs to it. */
const SAME_MOMENT_MS = 60 * 60 * 1000;

/**
 * Whether the user knows the password, by the sessions that are left (`auth.mfa_amr_claims`) and by these facts of GoTrue:
 * a session by password is marked `password`, also the one that a sign-up starts where addresses need no confirmation, be
 * the password made up or not; the session of a confirmation is marked `otp` or `email/signup`, whoever chose the password;
 * `recovery_sent_at` is the time of the last link or code for signing in, and is erased when the user sets a password.
 */
function passwordKnowledge(record: Fields, hash: string): OldSignIn['password'] {
  if (!OWN_HASH.test(hash)) return undefined;
  const claims = listAt(record, 'amr_claims');
  const of = (...methods: string[]) => claims.filter((claim) => methods.includes(methodOf(claim)));
  const [byPassword, byCode] = [of('password'), of('otp', 'magiclink')];
  const wasMailed = textAt(record, 'recovery_sent_at') !== undefined;
  const isOfSignUp = (claim: Fields) =>
    isLater(claim, record, ['created_at']) === false && (byCode.length > 0 || wasMailed);
  if (byPassword.some((claim) => !isOfSignUp(claim))) return undefined;
  const cameBack = byCode.some(
    (claim) => methodOf(claim) === 'magiclink' || isLater(claim, record, ['email_confirmed_at', 'phone_confirmed_at']),
  );
  const isByMail = textAt(record, 'email') !== undefined;
  const wasSetSince = isByMail && Object.hasOwn(record, 'recovery_sent_at') && !wasMailed;
  return cameBack && !wasSetSince && of('recovery').length === 0 ? 'unknown' : 'perhaps';
}

function methodOf(claim: Fields): string {
  return textAt(claim, 'authentication_method') ?? textAt(claim, 'method') ?? '';
}

/** Whether a session began clearly after the last of the user's times; undefined if one of them is not said. */
function isLater(claim: Fields, record: Fields, columns: readonly string[]): boolean | undefined {
  const began = timeAt(claim, 'created_at');
  const times = columns.map((column) => timeAt(record, column)).filter((time) => time !== undefined);
  if (began === undefined || times.length === 0) return undefined;
  return began - Math.max(...times) > SAME_MOMENT_MS;
}

/** PostgreSQL writes the offset `+00` without minutes. */
function timeAt(record: Fields, column: string): number | undefined {
  const text = textAt(record, column)
    ?.replace(/ /, 'T')
    .replace(/([+-]\d\d)$/, '$1:00');
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
