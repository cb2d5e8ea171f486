/**
 * Password hashes of Firebase: a modified scrypt, whose parameters belong to the project and are not in the export.
 *
 * Guarantee: a hash that cannot be verified becomes a text that the service rejects by name, so that the user fails
 * instead of being imported without a password. No message holds a value of the parameters.
 * https://firebase.google.com/docs/cli/auth#password_hash_parameters, https://github.com/firebase/scrypt
 */
import { decodeBase64 } from '../../../passwords/base64.ts';
import type { Note } from '../../person.ts';
import { type Fields, UsageError } from '../../source.ts';
import { numberAt, textAt } from '../../values.ts';

/** Signer key and salt separator in base64. */
export interface HashConfig {
  signerKey: string;
  saltSeparator: string;
  rounds: number;
  memCost: number;
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

function base64At(settings: Fields, key: string, name: string): string {
  const text = textAt(settings, key);
  if (text === undefined) throw wrong(`lacks ${name}`);
  const base64 = standard(text);
  if (decodeBase64(base64) === undefined) throw wrong(`has a ${name} that is not base64`);
  return base64;
}

function countAt(settings: Fields, key: string, name: string, most: number): number {
  if (textAt(settings, key) === undefined) throw wrong(`lacks ${name}`);
  const count = numberAt(settings, key);
  if (count === undefined || count < 1 || count > most) throw wrong(`has a ${name} that is not 1 to ${most}`);
  return count;
}

function wrong(what: string): UsageError {
  return new UsageError(
    `The hash config ${what}. Copy all of it from the Firebase console: Authentication, Users, the three dots above the list.`,
  );
}

/** What the emulator writes in place of a hash: https://firebase.google.com/docs/emulator-suite/connect_auth */
const OF_EMULATOR = /^fakeHash:salt=[^:]*:password=(.*)$/s;

/** The password of a user of the Firebase emulator, which hashes none. */
export function emulatorPassword(record: Fields): string | undefined {
  return OF_EMULATOR.exec(textAt(record, 'passwordHash') ?? '')?.[1];
}

/** Undefined for a user without a password. @param notes receives the reason why a hash cannot be verified */
export function hashOf(record: Fields, config: HashConfig | undefined, notes: Note[]): string | undefined {
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

/** Firebase returns base64url; its command line converts that to standard base64, other programs do not. */
function standard(base64: string): string {
  return base64.replaceAll('-', '+').replaceAll('_', '/');
}
