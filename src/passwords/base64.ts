/** Strict base64 of hash strings: Node's own decoder skips what it does not know, which would hide a broken hash. */

/**
 * The digest of the shortest hash we take, in bytes: the lower end of the PHC string format for Argon2. A shorter one
 * would let too many wrong passwords in.
 */
export const SHORTEST_DIGEST = 12;

/**
 * Bytes of base64 (RFC 4648 section 4), padded or not; undefined when it is not base64.
 * @param adapted also take `.` for `+`, as passlib's "adapted base64" writes it
 */
export function decodeBase64(text: string, { adapted = false } = {}): Buffer | undefined {
  const standard = adapted ? text.replaceAll('.', '+') : text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(standard)) return undefined;
  const padding = standard.indexOf('=');
  if (padding >= 0 && standard.length % 4 !== 0) return undefined;
  if (padding < 0 && standard.length % 4 === 1) return undefined;
  return Buffer.from(standard, 'base64');
}

/** Base64 without padding, as the PHC string format has it. */
export function encodeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
