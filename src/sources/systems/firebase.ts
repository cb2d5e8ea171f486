/**
 * Firebase Authentication: the JSON or CSV of `firebase auth:export`, and the users that the Admin SDK lists, whose
 * fields have other names.
 *
 * Guarantee: a hash that cannot be verified becomes a text that the service rejects by name, so that the user fails
 * instead of being imported without a password. No message holds a value of the hash parameters.
 * https://firebase.google.com/docs/cli/auth#file_format, …#CSV, …#password_hash_parameters
 * https://firebase.google.com/docs/reference/admin/node/firebase-admin.auth.userrecord
 * https://github.com/firebase/scrypt
 */
import { decodeBase64 } from '../../passwords/scheme.ts';
import type { Note, OldSignIn, Person, ProviderLink, Skipped } from '../entry.ts';
import { type Factors, openFactors } from '../factors.ts';
import { isOfCompany, signedInBy } from '../old-sign-in.ts';
import { UsageError } from '../read/records.ts';
import type { ExportFormat, Fields, Format, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, numberAt, objectAt, objectsAt, textAt } from '../values.ts';

const IN_COLUMNS = [
  ['google.com', 'facebook.com', 'twitter.com', 'github.com'],
  ['apple.com', 'microsoft.com', 'gc.apple.com', 'playgames.google.com', 'linkedin.com', 'yahoo.com'],
] as const;

/**
 * The CSV of `firebase auth:export` has no header. Its rows end with a comma, and older versions lack the columns of
 * the newer providers.
 */
export const FIREBASE_COLUMNS: readonly string[] = [
  'localId',
  'email',
  'emailVerified',
  'passwordHash',
  'salt',
  'displayName',
  'photoUrl',
  ...columnsOf(IN_COLUMNS[0]),
  'createdAt',
  'lastSignedInAt',
  'phoneNumber',
  'disabled',
  'customAttributes',
  ...columnsOf(IN_COLUMNS[1]),
];

const MISSING: readonly Missing[] = [
  {
    id: 'FIREBASE-SECOND-FACTORS',
    what: 'secondFactor',
    message: 'The files of `firebase auth:export` never contain second factors (mfaInfo).',
    remedy: 'Read the users with `muster pull firebase`, or list them with listUsers of the Admin SDK.',
    // The API and the Admin SDK give users these fields; only who has a factor has mfaInfo.
    isIn: (record) => ['mfaInfo', 'multiFactor', 'lastLoginAt', 'metadata'].some((name) => Object.hasOwn(record, name)),
  },
];

export const firebase: ExportFormat = {
  name: 'firebase',
  title: 'Firebase Authentication',
  formats: ['json', 'csv', 'ndjson'],
  jsonPaths: [['users', '*']],
  csvColumns: FIREBASE_COLUMNS,
  hashConfig:
    'The hashes of Firebase need it: the password hash parameters of the project, from the Firebase console ' +
    '(Authentication, Users, the three dots above the list).',
  recognizes,
  missing: MISSING,
  converter({ hashConfig }) {
    const config = hashConfig === undefined ? undefined : hashConfigOf(hashConfig);
    return (record) => convert(record, config);
  },
};

function columnsOf(providers: readonly string[]): string[] {
  return providers.flatMap((id) => [`${id}:rawId`, `${id}:email`, `${id}:displayName`, `${id}:photoUrl`]);
}

function recognizes(record: Fields, format: Format): number {
  // Any file without a header could have these columns, so their content decides.
  if (format === 'csv') return isRow(record) ? 0.9 : 0;
  if (typeof record.localId === 'string') return 1;
  return typeof record.uid === 'string' && Array.isArray(record.providerData) ? 0.9 : 0;
}

function isRow(record: Fields): boolean {
  const isMoment = /^[0-9]{10,14}$/.test(textAt(record, 'createdAt') ?? '');
  return (
    textAt(record, 'localId') !== undefined && isMoment && /^(true|false)$/.test(textAt(record, 'emailVerified') ?? '')
  );
}

/** Signer key and salt separator in base64. */
export interface HashConfig {
  signerKey: string;
  saltSeparator: string;
  rounds: number;
  memCost: number;
}

const PROVIDERS_ADDRESS: Note = {
  id: 'EMAIL-OF-PROVIDER',
  message: "The user's only address is the one at an identity provider; it is imported as unverified.",
};

const STATES = { inactive: ['disabled'] };

function convert(record: Fields, config: HashConfig | undefined): Person | Skipped {
  if (isTitles(record)) return { skip: 'A row of column titles.' };
  const providers = providersOf(record);
  const phone = textAt(record, 'phoneNumber');
  const email = textAt(record, 'email');
  const providersEmail = providers.find((provider) => provider.email !== undefined)?.email;
  if (isAnonymous(record) && providers.length === 0) return { skip: 'An anonymous user.' };
  const { state, skip, notes } = readSystemState(record, STATES);
  if (skip !== undefined) return { skip };
  if (email === undefined && providersEmail !== undefined) notes.push(PROVIDERS_ADDRESS);
  // A number is added only after the user enters the code sent to it.
  const { notes: lost, ...factors } = factorsOf(record).fields({ phone, phoneVerified: phone !== undefined });
  notes.push(...lost);
  return {
    userId: textAt(record, 'localId') ?? textAt(record, 'uid'),
    email: email ?? providersEmail,
    emailVerified: email === undefined ? false : boolAt(record, 'emailVerified'),
    displayName: textAt(record, 'displayName'),
    phone,
    phoneVerified: phone !== undefined,
    ...factors,
    state: state ?? 'active',
    hash: hashOf(record, config, notes),
    password: emulatorPassword(record),
    metadata: {
      photoUrl: textAt(record, 'photoUrl') ?? textAt(record, 'photoURL'),
      customAttributes: claimsOf(record),
      tenantId: textAt(record, 'tenantId'),
    },
    links: providers.map(({ provider, externalUserId, displayName, email }) => {
      return { provider, externalUserId, displayName: displayName ?? email };
    }),
    oldSignIn: waysOf(record, providers),
    notes,
  };
}

/** Firebase lists the provider `password` for users of passwords and of links by mail; only the former have a hash. */
function waysOf(record: Fields, providers: readonly FirebaseProvider[]): OldSignIn | undefined {
  const own = listedIn(record).flatMap((info) => textAt(info, 'providerId') ?? []);
  const hasHash = textAt(record, 'passwordHash') !== undefined;
  const isByLink = boolAt(record, 'emailLinkSignin') === true || own.includes('emailLink');
  return signedInBy({
    password: hasHash || (own.includes('password') && !isByLink),
    mailCode: isByLink || (own.includes('password') && !hasHash),
    sms: textAt(record, 'phoneNumber') !== undefined,
    provider: providers.some(({ provider }) => !isOfCompany(provider)),
    enterprise: providers.some(({ provider }) => isOfCompany(provider)),
  });
}

/** The first row of a CSV to which someone added the column titles of Firebase's documentation. */
function isTitles(record: Fields): boolean {
  return textAt(record, 'localId')?.toLowerCase() === 'uid' && textAt(record, 'email')?.toLowerCase() === 'email';
}

/** Firebase does not mark anonymous users: a user counts as anonymous if nothing identifies them. */
function isAnonymous(record: Fields): boolean {
  return ['email', 'phoneNumber', 'displayName', 'passwordHash', 'customAttributes'].every(
    (name) => textAt(record, name) === undefined,
  );
}

/**
 * Factors of the API (`mfaInfo`) and of the Admin SDK: text messages to a number, which was verified when it was added, or
 * an app, whose secret nobody gets.
 * https://cloud.google.com/identity-platform/docs/reference/rest/v1/MfaEnrollment
 */
function factorsOf(record: Fields): Factors {
  const factors = openFactors();
  const enrolled = objectsAt(objectAt(record, 'multiFactor'), 'enrolledFactors');
  for (const factor of [...objectsAt(record, 'mfaInfo'), ...enrolled]) {
    const number = textAt(factor, 'phoneInfo') ?? textAt(factor, 'phoneNumber');
    if (number === undefined) factors.lost('secondFactor');
    else factors.sms(number);
  }
  return factors;
}

/** What the emulator writes in place of a hash: https://firebase.google.com/docs/emulator-suite/connect_auth */
const OF_EMULATOR = /^fakeHash:salt=[^:]*:password=(.*)$/s;

/** The password of a user of the Firebase emulator, which hashes none. */
function emulatorPassword(record: Fields): string | undefined {
  return OF_EMULATOR.exec(textAt(record, 'passwordHash') ?? '')?.[1];
}

/** Custom claims; Firebase's command line writes them as JSON text. */
function claimsOf(record: Fields): unknown {
  const claims = textAt(record, 'customAttributes') ?? objectAt(record, 'customClaims');
  return claims === '{}' || (typeof claims === 'object' && Object.keys(claims).length === 0) ? undefined : claims;
}

interface FirebaseProvider extends ProviderLink {
  email: string | undefined;
}

function providersOf(record: Fields): FirebaseProvider[] {
  return [
    ...listedIn(record).flatMap(providerOf),
    ...IN_COLUMNS.flat().flatMap((id) => providerOf(cellsOf(record, id))),
  ];
}

function listedIn(record: Fields): Fields[] {
  return [...objectsAt(record, 'providerUserInfo'), ...objectsAt(record, 'providerData')];
}

/** Firebase's names for its own sign-in methods, which are not external providers. */
const ITS_OWN = ['password', 'phone', 'emailLink'];

function providerOf(info: Fields): FirebaseProvider[] {
  const provider = textAt(info, 'providerId');
  const externalUserId = textAt(info, 'rawId') ?? textAt(info, 'uid');
  if (provider === undefined || externalUserId === undefined || ITS_OWN.includes(provider)) return [];
  return [{ provider, externalUserId, displayName: textAt(info, 'displayName'), email: textAt(info, 'email') }];
}

function cellsOf(record: Fields, providerId: string): Fields {
  const cell = (name: string) => textAt(record, `${providerId}:${name}`);
  return { providerId, rawId: cell('rawId'), email: cell('email'), displayName: cell('displayName') };
}

// `name: value`, as the console shows it, and as JSON. A name begins where a word does, so that a long word is read once.
const SETTING = /"?(?<!\w)([A-Za-z0-9_]+)"?\s*[:=]\s*"?([A-Za-z0-9+/_=-]+)"?/g;
/** The limits of `firebase auth:import`. */
const MOST_ROUNDS = 8;
const MOST_MEM_COST = 14;

/** @throws UsageError when a parameter is missing or broken */
export function hashConfigOf(text: string): HashConfig {
  const settings: Fields = Object.fromEntries(
    [...text.matchAll(SETTING)].map(([, name = '', value]) => [name.toLowerCase().replace(/^base64|_/g, ''), value]),
  );
  const isScrypt = /^scrypt$/i.test(textAt(settings, 'algorithm') ?? 'SCRYPT');
  if (!isScrypt) throw wrong('is not for the algorithm SCRYPT, the only one whose hashes Firebase exports');
  return {
    signerKey: base64At(settings, 'signerkey', 'base64_signer_key'),
    saltSeparator: base64At(settings, 'saltseparator', 'base64_salt_separator'),
    rounds: countAt(settings, 'rounds', 'rounds', MOST_ROUNDS),
    memCost: countAt(settings, 'memcost', 'mem_cost', MOST_MEM_COST),
  };
}

function wrong(what: string): UsageError {
  return new UsageError(
    `The hash config ${what}. Copy all of it from the Firebase console: Authentication, Users, the three dots above the list.`,
  );
}

function base64At(settings: Fields, key: string, name: string): string {
  const text = textAt(settings, key);
  if (text === undefined) throw wrong(`lacks ${name}`);
  const base64 = standard(text);
  if (decodeBase64(base64) === undefined) throw wrong(`has a ${name} that is not base64`);
  return base64;
}

/** Firebase returns base64url; its command line converts that to standard base64, other programs do not. */
function standard(base64: string): string {
  return base64.replaceAll('-', '+').replaceAll('_', '/');
}

function countAt(settings: Fields, key: string, name: string, most: number): number {
  if (textAt(settings, key) === undefined) throw wrong(`lacks ${name}`);
  const count = numberAt(settings, key);
  if (count === undefined || count < 1 || count > most) throw wrong(`has a ${name} that is not 1 to ${most}`);
  return count;
}

const NO_CONFIG: Note = {
  id: 'HASH-CONFIG-MISSING',
  message: "The hash cannot be verified without the project's parameters: pass them with --hash-config.",
};

const REDACTED: Note = {
  id: 'HASH-REDACTED',
  message:
    'The export says REDACTED in place of the hash: export with an account that has the role Firebase Authentication Admin.',
};

const NOT_SCRYPT: Note = {
  id: 'HASH-NOT-SCRYPT',
  message:
    "The password was imported into Firebase and never used there; its hash is not Firebase's own and cannot be verified.",
};

/**
 * Firebase's modified scrypt, whose parameters belong to the project and are not in the export; undefined for a user
 * without a password.
 * @param notes receives the reason why a hash cannot be verified
 */
function hashOf(record: Fields, config: HashConfig | undefined, notes: Note[]): string | undefined {
  const hash = textAt(record, 'passwordHash');
  if (hash === undefined || OF_EMULATOR.test(hash)) return undefined;
  if (Buffer.from(hash, 'base64').toString('latin1').startsWith('REDACTED'))
    return failing('firebase-redacted', REDACTED, notes);
  if ((numberAt(record, 'version') ?? 0) !== 0) return failing('firebase-imported', NOT_SCRYPT, notes);
  if (config === undefined) return failing('firebase-scrypt', NO_CONFIG, notes);
  const salt = textAt(record, 'salt') ?? textAt(record, 'passwordSalt') ?? '';
  const { memCost, rounds, saltSeparator, signerKey } = config;
  return `$fbscrypt$v=1,n=${memCost},r=${rounds},p=1,ss=${saltSeparator},sk=${signerKey}$${standard(salt)}$${standard(hash)}`;
}

function failing(name: string, note: Note, notes: Note[]): string {
  notes.push(note);
  return `$${name}$`;
}
