/**
 * The secret that an authenticator app and the service share, and the codes it makes: RFC 6238 with SHA-1, 6 digits and
 * steps of 30 s, which is all that every app can do.
 *
 * Arithmetic only: nothing here is stored, and a message never holds any of the secret.
 */
import { Secret, TOTP, URI } from 'otpauth';

/** What a sealed secret is bound to, in the user's row and in an import's. */
export const TOTP_SEAL = 'totp';

/** As RFC 4226 section 4 (R6) recommends. */
const NEW_BYTES = 20;
/** 80 bits: the shortest that programs in wide use have made. */
const SHORTEST_BYTES = 10;
/** HMAC-SHA-1 takes in no more at once. */
const LONGEST_BYTES = 64;
/** Of an imported secret, in UTF-16 units: an `otpauth` address holds a label and an issuer too. */
export const LONGEST_TEXT = 500;

const ALGORITHM = 'SHA1';
const DIGITS = 6;
const PERIOD_S = 30;
/** Steps before and after the current one that are good too, for clocks that go wrong and people who type. */
const WINDOW = 1;

const BASE32 = /^[A-Za-z2-7]+$/;
const CODE = /^[0-9]{6}$/;

/** A new secret in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: NEW_BYTES }).base32;
}

/**
 * A secret that another program made: base32 as people copy it (in groups, in lower case, padded or not), or the whole
 * `otpauth://totp/…` address of its QR code.
 * @returns canonical base32, or what is wrong with it
 */
export function readTotpSecret(text: string): { secret: string } | { problem: string } {
  if (text.length > LONGEST_TEXT) return { problem: `must have at most ${LONGEST_TEXT} characters` };
  return /^otpauth:/i.test(text) ? readAddress(text) : readBase32(text);
}

function readBase32(text: string): { secret: string } | { problem: string } {
  const letters = text.replace(/[\s-]/g, '').replace(/={1,6}$/, '');
  if (!BASE32.test(letters)) return { problem: 'must be base32 (A to Z, 2 to 7), or an otpauth://totp/ address' };
  // Bits of a last, incomplete byte are dropped, as authenticator apps do.
  const { bytes, base32 } = Secret.fromBase32(letters);
  const fits = bytes.length >= SHORTEST_BYTES && bytes.length <= LONGEST_BYTES;
  return fits ? { secret: base32 } : { problem: `must be a secret of ${SHORTEST_BYTES} to ${LONGEST_BYTES} bytes` };
}

function readAddress(text: string): { secret: string } | { problem: string } {
  const otp = parseAddress(text);
  if (!(otp instanceof TOTP)) return { problem: 'must be a valid otpauth://totp/ address' };
  const usual = otp.algorithm === ALGORITHM && otp.digits === DIGITS && otp.period === PERIOD_S;
  return usual ? readBase32(otp.secret.base32) : { problem: 'must be for SHA1, 6 digits and a period of 30 seconds' };
}

function parseAddress(text: string): unknown {
  try {
    return URI.parse(text);
  } catch {
    return undefined; // its messages quote the address
  }
}

/**
 * The address to show as a QR code (Key URI format of the authenticator apps).
 * @param secret canonical base32
 */
export function totpAddress(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  // In an address the first colon divides the two.
  const label = { issuer: issuer.replaceAll(':', ' '), label: account.replaceAll(':', ' ') };
  return new TOTP({ ...label, secret, algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S }).toString();
}

/**
 * The number of the step whose code this is, in the window around `now`; undefined when it is none.
 * @param secret canonical base32
 * @param code as it was typed, spaces and all
 * @param now milliseconds since 1970
 */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  const token = code.replace(/\s/g, '');
  if (!CODE.test(token)) return undefined;
  const totp = new TOTP({ secret, algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S });
  const delta = totp.validate({ token, timestamp: now, window: WINDOW });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
