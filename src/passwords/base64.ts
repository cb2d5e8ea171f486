/** Strict base64 for hash strings: Node's own decoder skips unknown characters, which would hide a broken hash. */

/**
 * The shortest accepted digest, in bytes: the lower bound of the PHC string format for Argon2. A shorter one would
 * accept too many wrong passwords.
 */
export const SHORTEST_DIGEST = 12;

/**
 * Decodes base64 (RFC 4648 section 4), padded or not; undefined when the text is not base64.
 * @param adapted also accept `.` for `+`, as in passlib's "adapted base64"
 */
export function decodeBase64(text: string, { adapted = false } = {}): Buffer | undefined {
  const standard = adapted ? text.replaceAll('.', '+') : text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(standard)) return undefined;
  const padding = standard.indexOf('=');
  if (padding >= 0 && standard.length % 4 !== 0) return undefined;
  if (padding < 0 && standard.length % 4 === 1) return undefined;
  return Buffer.from(standard, 'base64');
}

/** Base64 without padding, as in the PHC string format. */
export function encodeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
