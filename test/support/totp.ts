/** An authenticator app: RFC 6238 implemented with node:crypto, so that the product's code does not check itself. */
import { createHmac } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** What other systems set up. */
export interface Parameters {
  algorithm?: 'SHA1' | 'SHA256' | 'SHA512';
  digits?: 6 | 8;
  periodS?: number;
}

/** Base32 (RFC 4648 section 6) in upper case, without padding. */
export function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

function bytesOf(secret: string): Buffer {
  const bits = Array.from(secret, (c) => ALPHABET.indexOf(c).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/**
 * The code that an app shows; without other parameters of SHA-1, 6 digits and steps of 30 s.
 * @param secret base32 in upper case, without padding
 * @param at milliseconds since 1970; default: now
 */
export function codeAt(
  secret: string,
  at: number = Date.now(),
  { algorithm = 'SHA1', digits = 6, periodS = STEP_MS / 1000 }: Parameters = {},
): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 1000 / periodS)));
  const mac = createHmac(algorithm, bytesOf(secret)).update(counter).digest();
  const offset = (mac.at(-1) as number) & 15;
  const number = mac.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** A code that is valid neither now nor in the neighbouring steps. */
export function wrongCode(secret: string, at: number = Date.now()): string {
  const good = [-2, -1, 0, 1, 2].map((steps) => codeAt(secret, at + steps * STEP_MS));
  const codes = ['000000', '111111', '222222', '333333', '444444', '555555'];
  return codes.find((code) => !good.includes(code)) as string;
}
