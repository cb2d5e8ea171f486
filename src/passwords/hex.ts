/** Strict hexadecimal digits of hash strings: Node's own decoder stops without a word at what it does not know. */

/** Bytes of pairs of digits in either case; undefined when it is anything else. */
export function decodeHex(text: string): Buffer | undefined {
  return /^([0-9A-Fa-f]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}
