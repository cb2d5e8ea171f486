/**
 * What proves a person besides the password, as fields of a person and of an entry: authenticator apps, codes by mail and
 * text message, recovery codes and passkeys.
 *
 * Guarantee: what an import would refuse is left out and noted as lost, so that it never fails its user.
 */
import { MOST_RECOVERY_CODES, type RecoveryCode, recoveryProblem } from '../passwords/recovery-codes.ts';
import { MOST_APPS } from '../passwords/totp-secret.ts';
import {
  type Note,
  PASSKEY_HOST_UNKNOWN,
  PASSKEY_LOST,
  RECOVERY_CODES_LOST,
  RECOVERY_CODES_WEAK,
  SECOND_FACTOR_LOST,
} from './notes.ts';

/** An authenticator app. Absent parameters are SHA1, 6 digits and 30 seconds. */
export interface AppOfPerson {
  /** In base32, or the whole otpauth://totp/ address. */
  secret: string;
  algorithm?: string | undefined;
  digits?: number | undefined;
  /** Seconds. */
  period?: number | undefined;
  name?: string | undefined;
}

/** Bytes are in base64url without padding. */
export interface PasskeyOfPerson {
  credentialId: string;
  /** A COSE key (RFC 9052). */
  publicKey: string;
  signCount?: number | undefined;
  /** Absent: the export does not say for which host it was made. */
  rpId?: string | undefined;
  userHandle?: string | undefined;
  transports?: readonly string[] | undefined;
  name?: string | undefined;
  backedUp?: boolean | undefined;
  /** It proves the user after the password, and signs nobody in alone. */
  secondFactorOnly?: boolean | undefined;
}

/** What of a person (entry.ts) the entry's factors are made of. */
export interface FactorsOfPerson {
  email?: string | undefined;
  phone?: string | undefined;
  /** Secret of a second factor: base32 or an otpauth://totp/ address. */
  totp?: string | undefined;
  /** Authenticator apps beside `totp`. */
  totps?: readonly AppOfPerson[] | undefined;
  /** Those that are not used yet. */
  recoveryCodes?: readonly RecoveryCode[] | undefined;
  passkeys?: readonly PasskeyOfPerson[] | undefined;
  /** Codes by mail to the address, and by text message to the number, are second factors. */
  otpEmail?: boolean | undefined;
  otpSms?: boolean | undefined;
}

/** The fields of an entry's `user`. */
export interface FactorEntry {
  otpCode?: string;
  totps?: AppOfPerson[];
  recoveryCodes?: RecoveryCode[];
  passkeys?: (PasskeyOfPerson & { rpId: string })[];
  otpEmail?: true;
  otpSms?: true;
}

/** The most that an import takes of a user. */
const MOST_PASSKEYS = 50;
const LONGEST_NAME = 200;

/**
 * The factors of a person as fields of an entry.
 * @param passkeyRpId the host of passkeys whose export does not name it
 * @param notes receives what is lost
 */
export function factorEntry(person: FactorsOfPerson, passkeyRpId: string | undefined, notes: Note[]): FactorEntry {
  const add = (note: Note) => void (notes.some(({ id }) => id === note.id) || notes.push(note));
  return {
    ...appsEntry(person, add),
    ...codesEntry(person.recoveryCodes ?? [], add),
    ...passkeysEntry(person.passkeys ?? [], passkeyRpId, add),
    ...messagesEntry(person, add),
  };
}

type Add = (note: Note) => void;

/** A single app with the usual parameters is `otpCode`. `totp` is left as it is: the service judges it. */
function appsEntry({ totp, totps = [] }: FactorsOfPerson, add: Add): Pick<FactorEntry, 'otpCode' | 'totps'> {
  const all = [...(totp === undefined ? [] : [{ secret: totp }]), ...totps];
  const [first] = all;
  if (first === undefined) return {};
  if (all.length === 1 && Object.keys(first).length === 1) return { otpCode: first.secret };
  const each = new Map(all.toReversed().map((app) => [app.secret, app]));
  const once = [...each.values()].reverse();
  if (once.length > MOST_APPS) add(SECOND_FACTOR_LOST);
  return { totps: once.slice(0, MOST_APPS).map(named) };
}

function codesEntry(codes: readonly RecoveryCode[], add: Add): Pick<FactorEntry, 'recoveryCodes'> {
  const taken = codes.slice(0, MOST_RECOVERY_CODES).filter((code) => recoveryProblem([code]) === undefined);
  if (codes.length > MOST_RECOVERY_CODES) add(RECOVERY_CODES_LOST);
  else if (taken.length < codes.length) add(RECOVERY_CODES_WEAK);
  if (taken.length === 0) return {};
  if (recoveryProblem(taken) === undefined) return { recoveryCodes: taken };
  add(RECOVERY_CODES_WEAK);
  return {};
}

function passkeysEntry(
  passkeys: readonly PasskeyOfPerson[],
  passkeyRpId: string | undefined,
  add: Add,
): Pick<FactorEntry, 'passkeys'> {
  const each = new Map(passkeys.toReversed().map((passkey) => [passkey.credentialId, passkey]));
  const taken = [...each.values()].reverse().flatMap((passkey) => {
    const rpId = passkey.rpId ?? passkeyRpId?.toLowerCase();
    if (rpId !== undefined) return [named({ ...passkey, rpId })];
    add(PASSKEY_HOST_UNKNOWN);
    if (passkey.secondFactorOnly === true) add(SECOND_FACTOR_LOST);
    return [];
  });
  if (taken.length > MOST_PASSKEYS) add(PASSKEY_LOST);
  return taken.length > 0 ? { passkeys: taken.slice(0, MOST_PASSKEYS) } : {};
}

function messagesEntry(
  { otpEmail, otpSms, email, phone }: FactorsOfPerson,
  add: Add,
): Pick<FactorEntry, 'otpEmail' | 'otpSms'> {
  const lacks = (otpEmail === true && email === undefined) || (otpSms === true && phone === undefined);
  if (lacks) add(SECOND_FACTOR_LOST);
  return {
    ...(otpEmail === true && email !== undefined && { otpEmail: true as const }),
    ...(otpSms === true && phone !== undefined && { otpSms: true as const }),
  };
}

function named<T extends { name?: string | undefined }>(one: T): T {
  return one.name === undefined ? one : { ...one, name: one.name.slice(0, LONGEST_NAME) };
}
