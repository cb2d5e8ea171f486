/**
 * The key that an authenticator app and the service share, and its codes: RFC 6238 with SHA-1, SHA-256 or SHA-512, 6 or
 * 8 digits and any period from 10 to 300 s. New keys have SHA-1, 6 digits and 30 s, the only parameters that every app
 * supports.
 *
 * Computation only: nothing here is stored, and messages never contain any part of the secret.
 */
import { Secret, TOTP } from 'otpauth';

/** The purpose that an encrypted key is bound to, in the user's row and in an import's. */
export const TOTP_PURPOSE = 'totp';

/** Apps of one user: as many as a person still tells apart. */
export const MOST_APPS = 10;

/** As RFC 4226 section 4 (R6) recommends. */
const NEW_BYTES = 20;
/** 80 bits: the shortest that widely used programs have generated. */
const SHORTEST_BYTES = 10;
/** The block sizes of the HMACs: longer keys are hashed first. */
const LONGEST_BYTES = { SHA1: 64, SHA256: 64, SHA512: 128 } as const;
/** For an imported key, in UTF-16 units: an `otpauth` address also holds a label and an issuer. */
export const LONGEST_TEXT = 500;

const [SHORTEST_PERIOD_S, LONGEST_PERIOD_S] = [10, 300];

const BASE32 = /^[A-Za-z2-7]+$/;

/** What makes the codes of an app. */
export interface TotpKey {
  /** Canonical base32: upper case, without padding. */
  secret: string;
  algorithm: 'SHA1' | 'SHA256' | 'SHA512';
  digits: 6 | 8;
  /** In seconds. */
  periodS: number;
}

/** The parameters as another program wrote them, beside the secret; an absent one has its usual value. */
export interface GivenParameters {
  algorithm?: unknown;
  digits?: unknown;
  /** In seconds. */
  period?: unknown;
}

interface Unreadable {
  problem: string;
}

const USUAL = { algorithm: 'SHA1', digits: 6, periodS: 30 } as const;

/** A new secret in base32, for the usual parameters. */
export function newTotpSecret(): string {
  return new Secret({ size: NEW_BYTES }).base32;
}

/**
 * Reads a key from another program: base32 as people copy it (in groups, in lower case, padded or not), or the whole
 * `otpauth://totp/…` address of its QR code.
 * @param given must agree with the parameters that an address has
 * @returns what is wrong with it, if it cannot be read
 */
export function readTotpKey(text: string, given: GivenParameters = {}): TotpKey | Unreadable {
  if (text.length > LONGEST_TEXT) return { problem: `must have at most ${LONGEST_TEXT} characters` };
  if (!/^otpauth:/i.test(text)) return readKey(text, given);
  const parts = addressParts(text);
  if (!parts) return { problem: 'must be a valid otpauth://totp/ address' };
  const { secret, ...within } = parts;
  const key = readKey(secret, { ...given, ...present(within) });
  if ('problem' in key) return key;
  const beside = readKey(secret, { ...present(within), ...present(given) });
  if ('problem' in beside) return beside;
  return totpText(beside) === totpText(key)
    ? key
    : { problem: 'must not have other parameters in its address than beside it' };
}

function present(given: GivenParameters): GivenParameters {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
}

/** Own addresses have no label, which parsers of addresses require. */
function addressParts(text: string): (GivenParameters & { secret: string }) | undefined {
  const url = URL.parse(text);
  if (url?.host.toLowerCase() !== 'totp') return undefined;
  const values = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const key = name.toLowerCase();
    if (values.has(key)) return undefined;
    values.set(key, value);
  }
  const secret = values.get('secret')?.trim();
  // In an address, anything but base32 is a broken copy.
  if (!secret || !BASE32.test(secret.replace(/[\s-]/g, '').replace(/=+$/, ''))) return undefined;
  return { secret, algorithm: values.get('algorithm'), digits: values.get('digits'), period: values.get('period') };
}

function readKey(text: string, given: GivenParameters): TotpKey | Unreadable {
  const letters = text.replace(/[\s-]/g, '').replace(/={1,6}$/, '');
  if (!BASE32.test(letters)) return { problem: 'must be base32 (A to Z, 2 to 7), or an otpauth://totp/ address' };
  const parameters = readParameters(given);
  if ('problem' in parameters) return parameters;
  // Bits of a last, incomplete byte are dropped, as authenticator apps do.
  const { bytes, base32 } = Secret.fromBase32(letters);
  const longest = LONGEST_BYTES[parameters.algorithm];
  const fits = bytes.length >= SHORTEST_BYTES && bytes.length <= longest;
  return fits
    ? { secret: base32, ...parameters }
    : { problem: `must be a secret of ${SHORTEST_BYTES} to ${longest} bytes` };
}

function readParameters(given: GivenParameters): Omit<TotpKey, 'secret'> | Unreadable {
  const { algorithm: name = 'SHA1', digits = 6, period = 30 } = present(given);
  const algorithm = /^(?:HMAC-?)?SHA-?(1|256|512)$/i.exec(String(name))?.[1];
  if (algorithm === undefined) return { problem: 'must be for the algorithm SHA1, SHA256 or SHA512' };
  const count = wholeNumber(digits);
  if (count !== 6 && count !== 8) return { problem: 'must be for 6 or 8 digits' };
  const periodS = wholeNumber(period);
  if (!(periodS >= SHORTEST_PERIOD_S && periodS <= LONGEST_PERIOD_S)) {
    return { problem: `must be for a period of ${SHORTEST_PERIOD_S} to ${LONGEST_PERIOD_S} seconds` };
  }
  return { algorithm: `SHA${algorithm}` as TotpKey['algorithm'], digits: count, periodS };
}

function wholeNumber(value: unknown): number {
  return /^\d{1,4}$/.test(String(value)) ? Number(value) : Number.NaN;
}

/** The text of a key that is encrypted: base32 alone for the usual parameters, as versions before wrote it. */
export function totpText({ secret, algorithm, digits, periodS }: TotpKey): string {
  const isUsual = algorithm === USUAL.algorithm && digits === USUAL.digits && periodS === USUAL.periodS;
  return isUsual
    ? secret
    : `otpauth://totp/?secret=${secret}&algorithm=${algorithm}&digits=${digits}&period=${periodS}`;
}

/** The key of a text that `totpText` made. @throws Error for any other text, which it does not quote */
export function keyOfText(text: string): TotpKey {
  const key = readTotpKey(text);
  if ('problem' in key) throw new Error('The stored key of an authenticator app cannot be read.');
  return key;
}

/** The address to show as a QR code (Key URI format of the authenticator apps). */
export function totpAddress(key: TotpKey, { issuer, account }: { issuer: string; account: string }): string {
  // In the address, the first colon separates issuer and account.
  return totpOf(key, { issuer: issuer.replaceAll(':', ' '), label: account.replaceAll(':', ' ') }).toString();
}

/**
 * The step of this code in the window around `now`; undefined if the code is not valid.
 * @param code as the user typed it, including spaces
 * @param now milliseconds since 1970
 * @param window steps before and after the current one that are also accepted, for inaccurate clocks and the time to
 *   type a code
 */
export function stepOfCode(key: TotpKey, code: string, now: number, window: number): number | undefined {
  const token = code.replace(/\s/g, '');
  if (token.length !== key.digits || !/^[0-9]+$/.test(token)) return undefined;
  const totp = totpOf(key);
  const delta = totp.validate({ token, timestamp: now, window });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}

function totpOf(
  { secret, algorithm, digits, periodS }: TotpKey,
  label: { issuer?: string; label?: string } = {},
): TOTP {
  return new TOTP({ ...label, secret, algorithm, digits, period: periodS });
}
