/**
 * Clerk: the CSV of its dashboard, which has the hashes, and the users of its backend API, which have the metadata.
 *
 * Guarantee: an address counts as verified only if the export lists it as verified.
 * https://clerk.com/docs/guides/development/migrating/export-from-clerk
 * https://clerk.com/docs/reference/backend-api/tag/users
 * https://clerk.com/docs/reference/backend/user/create-user (`passwordHasher`)
 */
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { bytesOf, type HashText, pbkdf2Text, saltedDigest, unsupported } from '../hashes.ts';
import { signedInBy } from '../old-sign-in.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, isEmptyObject, isFields, objectAt, objectsAt, textAt } from '../values.ts';

const MISSING: readonly Missing[] = [
  {
    id: 'CLERK-PASSWORDS',
    what: 'password',
    message: 'The answers of the backend API of Clerk contain no password hashes; the CSV of the dashboard does.',
    remedy: 'Copy password_digest, password_hasher and totp_secret of the CSV to the user with the same id.',
    isIn: (record) => Object.hasOwn(record, 'password_digest'),
  },
  {
    id: 'CLERK-ACCOUNTS',
    what: 'links',
    message: 'The CSV of Clerk contains no accounts at providers or companies, passkeys and backup codes.',
    remedy:
      'List the users with GET /v1/users, and add password_digest, password_hasher and totp_secret of the CSV to the user with the same id.',
    isIn: (record) => Object.hasOwn(record, 'external_accounts'),
  },
  {
    id: 'CLERK-ORGANIZATIONS',
    what: 'roles',
    message: 'Exports of Clerk contain no organizations and roles.',
    remedy:
      'Add data of the answer of GET /v1/users/{user_id}/organization_memberships to each user, as the property organization_memberships; it becomes metadata.',
    isIn: (record) => Object.hasOwn(record, 'organization_memberships'),
  },
];

export const clerk: ExportFormat = {
  name: 'clerk',
  title: 'Clerk',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['data', '*']],
  recognizes(record) {
    const has = (key: string) => Object.hasOwn(record, key);
    if (has('email_addresses') && has('primary_email_address_id')) return 1;
    if (has('password_hasher') && has('email_addresses')) return 1;
    if (!has('primary_email_address') && !has('verified_email_addresses')) return 0;
    return has('password_hasher') || textAt(record, 'id')?.startsWith('user_') === true ? 1 : 0;
  },
  missing: MISSING,
  fields: { isTable: false, isRead: (name) => STATES.ignored.includes(name) },
  converter: () => convert,
};

const PRIMARY_UNLISTED: Note = {
  id: 'CLERK-PRIMARY-UNLISTED',
  message:
    'The primary address is in neither the list of verified nor of unverified addresses; it counts as unverified.',
};

const STATES = {
  inactive: ['banned'],
  locked: ['locked'],
  // What users have set up, and what they may do: delete their account, create organizations.
  ignored: ['backup_code_enabled', 'delete_self_enabled', 'create_organization_enabled'],
};

function convert(record: Fields): Person | Skipped {
  const emails = contactsOf(record, 'email_address', 'email_addresses');
  const phones = contactsOf(record, 'phone_number', 'phone_numbers');
  const email = primaryOf(emails);
  const phone = primaryOf(phones);
  const { hash, notes = [] } = clerkHash(record);
  const read = readSystemState(record, STATES);
  if (read.skip !== undefined) return { skip: read.skip };
  const factors = factorsOf(record).fields({ phone: phone?.value, phoneVerified: phone?.isVerified });
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: email?.value,
    emailVerified: email?.isVerified,
    firstName: textAt(record, 'first_name'),
    lastName: textAt(record, 'last_name'),
    language: textAt(record, 'locale'),
    phone: phone?.value,
    phoneVerified: phone?.isVerified,
    state: read.state,
    hash,
    ...factors,
    metadata: metadataOf(record, emails, phones),
    links: linksOf(record),
    oldSignIn: waysOf(record, { hasEmail: email !== undefined, hasPhone: phone !== undefined }),
    notes: [
      ...read.notes,
      ...notes,
      ...(email?.isUnlisted === true ? [PRIMARY_UNLISTED] : []),
      ...factors.notes,
      ...(objectsAt(record, 'web3_wallets').length > 0 ? [WALLET_LOST] : []),
    ],
  };
}

interface Contact {
  value: string;
  /** Absent: the export has no list of verified contacts. */
  isVerified: boolean | undefined;
  isPrimary: boolean;
  /** It is the primary contact, but in none of the export's lists. */
  isUnlisted: boolean;
}

/** The primary contact, else the first verified one, else the first. */
function primaryOf(contacts: readonly Contact[]): Contact | undefined {
  return contacts.find(({ isPrimary }) => isPrimary) ?? contacts.find(({ isVerified }) => isVerified) ?? contacts[0];
}

const KEPT = (
  'external_id public_metadata private_metadata unsafe_metadata legal_accepted_at ' + 'organization_memberships'
).split(' ');

function metadataOf(record: Fields, emails: readonly Contact[], phones: readonly Contact[]): Fields {
  const kept = KEPT.filter((key) => Object.hasOwn(record, key) && !isEmptyObject(record[key]));
  return {
    ...Object.fromEntries(kept.map((key) => [key, record[key]])),
    image_url: boolAt(record, 'has_image') === true ? textAt(record, 'image_url') : undefined,
    other_email_addresses: others(emails),
    other_phone_numbers: others(phones),
  };
}

/** All contacts but the one of `primaryOf`, for the metadata. */
function others(contacts: readonly Contact[]): { value: string; verified: boolean }[] | undefined {
  const primary = primaryOf(contacts);
  const rest = contacts.filter((contact) => contact !== primary);
  return rest.length === 0
    ? undefined
    : rest.map(({ value, isVerified }) => ({ value, verified: isVerified === true }));
}

/** Keeps each account once, as it may be in several of the lists. */
function linksOf(record: Fields): ProviderLink[] {
  const accounts = ['external_accounts', 'enterprise_accounts', 'saml_accounts'].flatMap((key) =>
    objectsAt(record, key),
  );
  const links = new Map<string, ProviderLink>();
  for (const account of accounts) {
    const provider = textAt(account, 'provider');
    const externalUserId = textAt(account, 'provider_user_id') ?? textAt(account, 'google_id');
    if (!provider || !externalUserId) continue;
    const displayName = textAt(account, 'username') ?? textAt(account, 'email_address');
    links.set(JSON.stringify([provider, externalUserId]), { provider, externalUserId, displayName });
  }
  return [...links.values()];
}

const WALLET_LOST: Note = {
  id: 'CLERK-WALLET-LOST',
  message: 'The user can sign in with a Web3 wallet, which has no counterpart here; it is dropped.',
};

/**
 * The secret of the app, and numbers that get codes after the password. Clerk exports neither keys of passkeys nor backup
 * codes.
 */
function factorsOf(record: Fields): Factors {
  const factors = openFactors();
  const isOn = (flag: string) => boolAt(record, flag) === true;
  const secret = textAt(record, 'totp_secret');
  const bySms = objectsAt(record, 'phone_numbers').filter((one) => boolAt(one, 'reserved_for_second_factor') === true);
  if (secret !== undefined) factors.app({ secret });
  for (const number of bySms) factors.sms(textAt(number, 'phone_number'));
  const isHidden = isOn('totp_enabled') || (isOn('two_factor_enabled') && bySms.length === 0);
  if (secret === undefined && isHidden) factors.lost('secondFactor');
  if (objectsAt(record, 'passkeys').length > 0) factors.lost('passkey');
  if (isOn('backup_code_enabled')) factors.lost('recoveryCodes');
  return factors;
}

/** Who has neither a password nor an account elsewhere signed in by a code to an address or a number. */
function waysOf(
  record: Fields,
  { hasEmail, hasPhone }: { hasEmail: boolean; hasPhone: boolean },
): OldSignIn | undefined {
  const isAny = (key: string) => objectsAt(record, key).length > 0;
  const ways = {
    password: textAt(record, 'password_digest') !== undefined || boolAt(record, 'password_enabled') === true,
    provider: isAny('external_accounts'),
    enterprise: isAny('enterprise_accounts') || isAny('saml_accounts'),
    passkey: isAny('passkeys'),
  };
  const isByCode = !Object.values(ways).includes(true);
  return signedInBy({ ...ways, mailCode: isByCode && hasEmail, sms: isByCode && hasPhone });
}

/**
 * Addresses or phone numbers of a user. The CSV names the primary one and lists the verified and unverified ones; the
 * API has a list of objects and the id of the primary one. Migration tools write the CSV's columns as JSON, with a list
 * of all addresses that does not say which of them are verified.
 * @param one `email_address` @param many `email_addresses`
 */
function contactsOf(record: Fields, one: string, many: string): Contact[] {
  const list = record[many];
  const isOfApi = Array.isArray(list) && (list.some(isFields) || !Object.hasOwn(record, `primary_${one}`));
  return isOfApi ? fromObjects(record, one, many) : fromColumns(record, one, many);
}

function fromObjects(record: Fields, one: string, many: string): Contact[] {
  const primaryId = textAt(record, `primary_${one}_id`);
  return objectsAt(record, many).flatMap((contact) => {
    const value = textAt(contact, one);
    if (value === undefined) return [];
    const isVerified = textAt(objectAt(contact, 'verification'), 'status') === 'verified';
    return [{ value, isVerified, isPrimary: primaryId !== undefined && contact.id === primaryId, isUnlisted: false }];
  });
}

function fromColumns(record: Fields, one: string, many: string): Contact[] {
  const primary = textAt(record, `primary_${one}`);
  const verified = listAt(record, `verified_${many}`);
  const unverified = listAt(record, `unverified_${many}`);
  const isSaid = Object.hasOwn(record, `verified_${many}`) || Object.hasOwn(record, `unverified_${many}`);
  const isPrimary = (value: string) => value.toLowerCase() === primary?.toLowerCase();
  const contact = (value: string, isVerified: boolean | undefined) => {
    return { value, isVerified, isPrimary: isPrimary(value), isUnlisted: false };
  };
  const said = [...verified.map((value) => contact(value, true)), ...unverified.map((value) => contact(value, false))];
  const isNew = (value: string) => !said.some((one) => one.value.toLowerCase() === value.toLowerCase());
  const listed: Contact[] = [
    ...said,
    ...listAt(record, many)
      .filter(isNew)
      .map((value) => contact(value, isSaid ? false : undefined)),
  ];
  if (primary === undefined || listed.some((contact) => contact.isPrimary)) return listed;
  return [{ value: primary, isVerified: isSaid ? false : undefined, isPrimary: true, isUnlisted: isSaid }, ...listed];
}

/** Values in one cell are separated by a bar, comma or semicolon; in JSON they are a list. */
function listAt(record: Fields, key: string): string[] {
  const value = record[key];
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string');
  return (textAt(record, key) ?? '')
    .split(/[|,;]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Hashers whose digest is a complete text, by the beginning that it must have. */
const AS_THEY_ARE: Readonly<Record<string, string>> = {
  bcrypt: '$2',
  argon2i: '$argon2i$',
  argon2id: '$argon2id$',
  phpass: '$P$',
  pbkdf2_sha256_django: 'pbkdf2_sha256$',
  bcrypt_sha256_django: 'bcrypt_sha256$',
  ldap_ssha: '{SSHA}',
  sha512_symfony: 'sha512_symfony$',
};

const IN_COGNITO: Note = {
  id: 'CLERK-PASSWORD-IN-COGNITO',
  message: 'The password was never moved from Amazon Cognito to Clerk; the user must set a new one here.',
};

const NO_SALT = Buffer.alloc(0);

const SALT_ORDER: Note = {
  id: 'CLERK-SALT-ORDER',
  message: 'Clerk does not document whether this salt precedes or follows the password; it is taken to precede it.',
};

/** Hashers whose digest must be rewritten; undefined when the digest does not have the expected form. */
const REWRITTEN: Readonly<Record<string, (digest: string) => HashText | undefined>> = {
  awscognito: () => ({ notes: [IN_COGNITO] }),
  md5: (digest) => (/^[0-9a-f]{32}$/i.test(digest) ? { hash: digest } : undefined),
  md5_salted: (digest) => salted('md5', digest),
  sha256: (digest) => bare('sha256', digest),
  sha256_salted: (digest) => salted('sha256', digest),
  // Salt and hash are base64; in Django's text of the same prefix, the salt is plain text.
  pbkdf2_sha256: (digest) => pbkdf2('sha256', digest, (salt) => bytesOf(salt, 'base64'), 'base64'),
  pbkdf2_sha512: (digest) => pbkdf2('sha512', digest, (salt) => Buffer.from(salt), 'hex'),
  pbkdf2_sha512_hex: (digest) => pbkdf2('sha512', digest, (salt) => bytesOf(salt, 'hex'), 'hex'),
  pbkdf2_sha1: pbkdf2Sha1,
  scrypt_firebase: firebase,
  scrypt_werkzeug: werkzeug,
};

/**
 * The hash in `password_digest`, in the form that `password_hasher` names. Clerk keeps hashes from other systems until
 * the user's next login, so one export holds several forms.
 */
function clerkHash(record: Fields): HashText {
  const digest = textAt(record, 'password_digest');
  if (digest === undefined) return {};
  const hasher = textAt(record, 'password_hasher')?.toLowerCase() ?? (digest.startsWith('$2') ? 'bcrypt' : 'unknown');
  if (Object.hasOwn(AS_THEY_ARE, hasher)) {
    return digest.startsWith(AS_THEY_ARE[hasher] as string) ? { hash: digest } : unsupported(hasher);
  }
  const rewrite = Object.hasOwn(REWRITTEN, hasher) ? REWRITTEN[hasher] : undefined;
  return rewrite?.(digest) ?? unsupported(hasher);
}

/** `salt$hash`; a salt may contain `$`. */
function salted(algorithm: string, digest: string): HashText | undefined {
  const [, salt, hex] = /^(.*)\$([0-9a-f]+)$/is.exec(digest) ?? [];
  const bytes = hex === undefined ? undefined : bytesOf(hex, 'hex');
  if (salt === undefined || !bytes) return undefined;
  return { hash: saltedDigest(algorithm, 'prefix', Buffer.from(salt), bytes), notes: [SALT_ORDER] };
}

function bare(algorithm: string, digest: string): HashText | undefined {
  const bytes = bytesOf(digest, 'hex');
  return bytes && { hash: saltedDigest(algorithm, 'prefix', NO_SALT, bytes) };
}

type SaltReader = (salt: string) => Buffer | undefined;

/** `pbkdf2_…$rounds$salt$hash` */
function pbkdf2(
  algorithm: string,
  digest: string,
  saltOf: SaltReader,
  encoding: 'hex' | 'base64',
): HashText | undefined {
  const [, rounds, saltText, hashText] = /^pbkdf2_[a-z0-9_]+\$(\d+)\$(.*)\$([^$]+)$/s.exec(digest) ?? [];
  const salt = saltText === undefined ? undefined : saltOf(saltText);
  const bytes = hashText === undefined ? undefined : bytesOf(hashText, encoding);
  return salt && bytes && { hash: pbkdf2Text(algorithm, Number(rounds), salt, bytes) };
}

/** May end with the length of the key; the salt is hex, or else plain text. */
function pbkdf2Sha1(digest: string): HashText | undefined {
  const [, rest, length] = /^(pbkdf2_sha1\$\d+\$[^$]+\$[0-9a-f]+)(?:\$(\d+))?$/i.exec(digest) ?? [];
  if (rest === undefined) return undefined;
  const isWhole = length === undefined || Number(length) * 2 === rest.length - rest.lastIndexOf('$') - 1;
  return isWhole ? pbkdf2('sha1', rest, (salt) => bytesOf(salt, 'hex') ?? Buffer.from(salt), 'hex') : undefined;
}

/** `hash$salt$signer key$salt separator$rounds$memory cost` in base64; older exports of Firebase use base64url. */
function firebase(digest: string): HashText | undefined {
  const parts = digest.replaceAll('-', '+').replaceAll('_', '/').split('$');
  const [hash, salt, key, separator, rounds = '', memory = ''] = parts;
  if (parts.length !== 6 || !/^\d+$/.test(rounds) || !/^\d+$/.test(memory)) return undefined;
  return { hash: `$fbscrypt$v=1,n=${memory},r=${rounds},p=1,ss=${separator},sk=${key}$${salt}$${hash}` };
}

/** Werkzeug's own text, or Clerk's with a leading `$`; the hash is hex, or base64 as in Clerk's documentation. */
function werkzeug(digest: string): HashText | undefined {
  const [, method, salt, text] = /^\$?([a-z0-9]+(?::[a-z0-9]+)+)\$([^$]+)\$([^$]+)$/.exec(digest) ?? [];
  if (method === undefined || text === undefined) return undefined;
  const bytes = bytesOf(text, 'hex') ?? bytesOf(text, 'base64');
  return bytes && { hash: `${method}$${salt}$${bytes.toString('hex')}` };
}
