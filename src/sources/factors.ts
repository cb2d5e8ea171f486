/**
 * What proves a person besides the password: authenticator apps, codes by mail and text message, recovery codes and
 * passkeys, from the forms in which old systems keep them to the fields of an entry.
 *
 * Guarantee: what cannot be read is noted as lost, and never fails its user; nothing is taken whose meaning is not certain.
 */
import { readPasskeyKey } from '../passwords/cose-key.ts';
import type { RecoveryCode } from '../passwords/recovery-codes.ts';
import { readTotpKey } from '../passwords/totp-secret.ts';
import { e164 } from '../platform/phone.ts';
import type { Note, Person } from './entry.ts';
import type { AppOfPerson, PasskeyOfPerson } from './factor-entry.ts';
import { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from './notes.ts';
import { isRpId } from './rp-id.ts';
import type { Fields } from './source.ts';
import { isFields, jsonAt, numberAt, parseJson, textAt } from './values.ts';

/** What `openFactors` found, as fields of a person. */
export type FactorFields = Pick<
  Person,
  | 'totp'
  | 'totps'
  | 'recoveryCodes'
  | 'passkeys'
  | 'otpEmail'
  | 'otpSms'
  | 'email'
  | 'emailVerified'
  | 'phone'
  | 'phoneVerified'
> & { notes: Note[] };

/** A passkey in the words of any system: bytes as base64, base64url, hexadecimal digits behind `\x` or `0x`, or a Buffer. */
export interface PasskeyGiven {
  credentialId: unknown;
  publicKey: unknown;
  signCount?: number | undefined;
  rpId?: string | undefined;
  userHandle?: unknown;
  transports?: unknown;
  name?: string | undefined;
  backedUp?: boolean | undefined;
  secondFactorOnly?: boolean | undefined;
}

/** Collects what an export says of one user. */
export interface Factors {
  /** An app with its secret; undefined or unreadable: it is lost. */
  app(app: { [Name in keyof AppOfPerson]: AppOfPerson[Name] | undefined }): void;
  /** @returns false if it is lost */
  passkey(given: PasskeyGiven): boolean;
  /** The codes that are not used yet. */
  recoveryCodes(codes: readonly RecoveryCode[]): void;
  /** Codes by mail. @param address one that has received such codes, so it is verified; undefined: the user's own */
  mail(address?: string): void;
  /** Codes by text message. @param number as `address` */
  sms(number?: string): void;
  lost(...kinds: readonly ('secondFactor' | 'passkey' | 'recoveryCodes')[]): void;
  /** @param person the address and the number of the user */
  fields(person: Pick<Person, 'email' | 'emailVerified' | 'phone' | 'phoneVerified'>): FactorFields;
}

/** A collection for one user, in which nothing is yet. */
export function openFactors(): Factors {
  const apps: AppOfPerson[] = [];
  const passkeys: PasskeyOfPerson[] = [];
  const codes: RecoveryCode[] = [];
  const mails: (string | undefined)[] = [];
  const numbers: (string | undefined)[] = [];
  const notes = new Set<Note>();
  return {
    app({ secret, ...parameters }) {
      const app = secret === undefined ? undefined : appOf({ secret, ...parameters });
      if (app) apps.push(app);
      else notes.add(SECOND_FACTOR_LOST);
    },
    passkey(given) {
      const passkey = passkeyOf(given);
      if (passkey) passkeys.push(passkey);
      else notes.add(given.secondFactorOnly === true ? SECOND_FACTOR_LOST : PASSKEY_LOST);
      return passkey !== undefined;
    },
    recoveryCodes: (given) => void codes.push(...given),
    mail: (address) => void mails.push(address),
    sms: (number) => void numbers.push(number),
    lost(...kinds) {
      for (const kind of kinds) notes.add(LOST_NOTES[kind]);
    },
    fields(person) {
      const byMail = proven(mails, person.email, (text) => text.toLowerCase());
      const bySms = proven(numbers, person.phone, (text) => e164(text) ?? text);
      if (byMail.isLost || bySms.isLost) notes.add(SECOND_FACTOR_LOST);
      return {
        ...appFields(apps),
        ...(codes.length > 0 && { recoveryCodes: codes }),
        ...(passkeys.length > 0 && { passkeys }),
        ...(byMail.isOwn && { otpEmail: true }),
        ...(byMail.isProven && { emailVerified: person.emailVerified ?? true }),
        ...(byMail.added !== undefined && { email: byMail.added, emailVerified: true }),
        ...(bySms.isOwn && { otpSms: true }),
        ...(bySms.isProven && { phoneVerified: person.phoneVerified ?? true }),
        ...(bySms.added !== undefined && { phone: bySms.added, phoneVerified: true }),
        notes: [...notes],
      };
    },
  };
}

/** A single app with the usual parameters is all that its secret says; its name tells it from no other. */
function appFields(apps: readonly AppOfPerson[]): Pick<Person, 'totp' | 'totps'> {
  const [first, ...others] = apps;
  if (first === undefined) return {};
  const { secret, name: _, ...parameters } = first;
  return others.length === 0 && Object.keys(parameters).length === 0 ? { totp: secret } : { totps: apps };
}

const LOST_NOTES = {
  secondFactor: SECOND_FACTOR_LOST,
  passkey: PASSKEY_LOST,
  recoveryCodes: RECOVERY_CODES_LOST,
} as const;

/**
 * Whether codes went to the user's own address or number. One that the user lacks is added; another one than the user's
 * is lost, as there is one of each.
 */
function proven(
  targets: readonly (string | undefined)[],
  own: string | undefined,
  normal: (text: string) => string,
): { isOwn: boolean; isProven: boolean; added?: string; isLost: boolean } {
  const given = targets.filter((target) => target !== undefined);
  if (own === undefined) {
    const [added] = given;
    const isOwn = added !== undefined;
    return { isOwn, isProven: false, isLost: targets.length > 0 && !isOwn, ...(isOwn && { added }) };
  }
  const isProven = given.some((target) => normal(target) === normal(own));
  const isOwn = isProven || given.length < targets.length;
  return { isOwn, isProven, isLost: targets.length > 0 && !isOwn };
}

/** Undefined if no code of the app can be verified. */
function appOf(app: AppOfPerson): AppOfPerson | undefined {
  const { secret, name, ...parameters } = app;
  const key = readTotpKey(secret, parameters);
  if ('problem' in key) return undefined;
  return {
    secret: key.secret,
    ...(key.algorithm !== 'SHA1' && { algorithm: key.algorithm }),
    ...(key.digits !== 6 && { digits: key.digits }),
    ...(key.periodS !== 30 && { period: key.periodS }),
    ...(name && { name }),
  };
}

/** The longest credential id (WebAuthn level 3, section 4) and user handle (section 5.4.3), in bytes. */
const LONGEST_ID = 1023;
const LONGEST_HANDLE = 64;
const MOST_TRANSPORTS = 10;
const TRANSPORT = /^[a-z-]{2,20}$/;

function passkeyOf(given: PasskeyGiven): PasskeyOfPerson | undefined {
  const { signCount, name, backedUp, secondFactorOnly } = given;
  const id = bytesIn(given.credentialId);
  const publicKey = publicKeyOf(given.publicKey);
  if (!id || id.length === 0 || id.length > LONGEST_ID || publicKey === undefined) return undefined;
  const handle = bytesIn(given.userHandle);
  const transports = wordsIn(given.transports).filter((word) => TRANSPORT.test(word));
  return {
    credentialId: id.toString('base64url'),
    publicKey,
    ...(signCount !== undefined && signCount >= 0 && signCount <= 0xffff_ffff && { signCount }),
    ...rpIdOf(given.rpId),
    ...(handle && handle.length > 0 && handle.length <= LONGEST_HANDLE && { userHandle: handle.toString('base64url') }),
    ...(transports.length > 0 && { transports: [...new Set(transports)].slice(0, MOST_TRANSPORTS) }),
    ...(name !== undefined && { name }),
    ...(backedUp !== undefined && { backedUp }),
    ...(secondFactorOnly === true && { secondFactorOnly }),
  };
}

function rpIdOf(text: string | undefined): { rpId?: string } {
  const rpId = text?.trim().toLowerCase() ?? '';
  return isRpId(rpId) ? { rpId } : {};
}

/** A COSE key, a SubjectPublicKeyInfo or its PEM, as COSE in base64url; undefined if no signature can be checked with it. */
function publicKeyOf(value: unknown): string | undefined {
  const isPem = typeof value === 'string' && value.includes('-----BEGIN');
  const text = isPem ? value : bytesIn(value)?.toString('base64url');
  const read = text === undefined ? undefined : readPasskeyKey(text);
  return read !== undefined && 'key' in read ? read.key.toString('base64url') : undefined;
}

/** The bytes of a value of an export. @returns undefined if there are none, or if they cannot be read */
export function bytesIn(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (isFields(value) && value.type === 'Buffer' && Array.isArray(value.data)) return Buffer.from(value.data);
  if (typeof value !== 'string' || value === '') return undefined;
  // PostgreSQL writes bytea, SQL Server varbinary in hexadecimal digits.
  const [, hex] = /^(?:\\x|0x)((?:[0-9a-f]{2})+)$/i.exec(value) ?? [];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) ? Buffer.from(value, 'base64url') : undefined;
}

/** Words of a list, of JSON text, or separated by commas. */
function wordsIn(value: unknown): string[] {
  const list = typeof value === 'string' ? (parseJson(value) ?? value.split(',')) : value;
  return Array.isArray(list) ? list.filter((word) => typeof word === 'string').map((word) => word.trim()) : [];
}

/**
 * The recovery codes of a column: a list, JSON text of one, or codes between blanks, commas or semicolons. One that begins
 * with `$` is a hash.
 */
export function codesIn(value: unknown): RecoveryCode[] | undefined {
  const parsed = typeof value === 'string' ? parseJson(value) : value;
  // The parameters of a hash have commas too.
  const split = typeof value === 'string' ? value.split(value.includes('$') ? /[\s;]+/ : /[\s;,]+/) : undefined;
  const list = Array.isArray(parsed) ? parsed : split;
  if (list === undefined) return undefined;
  const codes = list.filter((code) => typeof code === 'string').map((code) => code.trim());
  return codes
    .filter((code) => code !== '')
    .map((code) => (code.startsWith('$') ? { hash: code, scheme: 'mcf' } : code));
}

/** A passkey as go-webauthn writes it, which Kratos, Supabase and others keep: with or without an `authenticator`. */
export function goPasskey(record: Fields): PasskeyGiven {
  const any = (...names: readonly string[]) => names.map((name) => record[name]).find((value) => value !== undefined);
  const authenticator = jsonAt(record, Object.hasOwn(record, 'Authenticator') ? 'Authenticator' : 'authenticator');
  const flags = jsonAt(record, Object.hasOwn(record, 'Flags') ? 'Flags' : 'flags');
  const count = ['sign_count', 'signCount', 'SignCount'].map((name) => numberAt(authenticator, name));
  const backedUp = flags.backup_state ?? flags.backupState ?? flags.BackupState;
  return {
    credentialId: any('id', 'ID'),
    publicKey: any('public_key', 'publicKey', 'PublicKey'),
    signCount: count.find((one) => one !== undefined),
    transports: any('transports', 'transport', 'Transport'),
    name: textAt(record, 'display_name'),
    backedUp: typeof backedUp === 'boolean' ? backedUp : undefined,
  };
}
