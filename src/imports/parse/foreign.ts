/** Recognizes, by its first bytes, a body that is no JSON at all, to say so instead of naming a syntax error. */

/** As many bytes as `foreignFormat` needs. */
export const HEAD_BYTES = 64;

/** By the first bytes as hexadecimal digits. */
const FORMATS: [begins: RegExp, message: string][] = [
  [/^1f8b/, 'The body is compressed with gzip: compress it only once, and send the header Content-Encoding: gzip.'],
  [/^504b0304/, 'The body is a ZIP archive. It must be JSON, or JSON compressed with gzip.'],
  [/^(?:fffe|feff|[57]b00|00[57]b)/, 'The body is encoded in UTF-16. It must be UTF-8.'],
];
const MARKUP = 'The body is HTML or XML, probably a page of another server. It must be JSON.';

/** What is wrong with a body that begins with these bytes, as sentences; undefined if its format is not known. */
export function foreignFormat(head: Buffer): string | undefined {
  const known = FORMATS.find(([begins]) => begins.test(head.toString('hex')))?.[1];
  return known ?? (/^\ufeff?\s*</.test(head.toString('utf8')) ? MARKUP : undefined);
}
