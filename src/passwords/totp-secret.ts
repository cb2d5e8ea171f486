/**
 * The secret that an authenticator app and the service share, and its codes: RFC 6238 with SHA-1, 6 digits and steps of
 * 30 s, the only parameters that every app supports.
 *
 * Computation only: nothing here is stored, and messages never contain any part of the secret.
 */
import { Secret, TOTP, URI } from 'otpauth';

/** The purpose that an encrypted secret is bound to, in the user's row and in an import's. */
export const TOTP_PURPOSE = 'totp';

/** As RFC 4226 section 4 (R6) recommends. */
const NEW_BYTES = 20;
/** 80 bits: the shortest that widely used programs have generated. */
const SHORTEST_BYTES = 10;
/** The block size of HMAC-SHA-1: longer keys are hashed first. */
const LONGEST_BYTES = 64;
/** For an imported secret, in UTF-16 units: an `otpauth` address also holds a label and an issuer. */
export const LONGEST_TEXT = 500;

const ALGORITHM = 'SHA1';
const DIGITS = 6;
const PERIOD_S = 30;

const BASE32 = /^[A-Za-z2-7]+$/;
const CODE = /^[0-9]{6}$/;

/** A new secret in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: NEW_BYTES }).base32;
}

/**
 * Reads a secret from another program: base32 as people copy it (in groups, in lower case, padded or not), or the whole
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
    return undefined; // the error is dropped, as its message quotes the address
  }
}

/**
 * The address to show as a QR code (Key URI format of the authenticator apps).
 * @param secret canonical base32
 */
export function totpAddress(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  // In the address, the first colon separates issuer and account.
  const label = { issuer: issuer.replaceAll(':', ' '), label: account.replaceAll(':', ' ') };
  return new TOTP({ ...label, secret, algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S }).toString();
}

/**
 * The step of this code in the window around `now`; undefined if the code is not valid.
 * @param secret canonical base32
 * @param code as the user typed it, including spaces
 * @param now milliseconds since 1970
 * @param window steps before and after the current one that are also accepted, for inaccurate clocks and the time to
 *   type a code
 */
export function stepOfCode(secret: string, code: string, now: number, window: number): number | undefined {
  const token = code.replace(/\s/g, '');
  if (!CODE.test(token)) return undefined;
  const totp = new TOTP({ secret, algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S });
  const delta = totp.validate({ token, timestamp: now, window });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
