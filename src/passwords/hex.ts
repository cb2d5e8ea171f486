/** Strict hexadecimal for hash strings: Node's own decoder silently stops at unknown characters. */

/** Decodes pairs of hexadecimal digits in either case; undefined for any other text. */
export function decodeHex(text: string): Buffer | undefined {
  return /^([0-9A-Fa-f]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}
