/**
 * Which uploaded files are refused while they arrive: what is certainly no export, by its first bytes, and JSON that ends
 * too early, by its last ones. A workbook is read when all of it has arrived (`guess-pool.ts`). What only may be an export
 * is left to the recognition of the draft.
 */

import { problemOfBytes, problemOfPage } from '../../sources/read/containers.ts';
import { mayBeWorkbook } from '../../sources/read/xlsx.ts';
import { release } from './files.ts';

/** Its message says what the file is, and what to do. */
export class NotAnExport extends Error {}

const HEAD_BYTES = 2 ** 16;

/**
 * The bytes of a file, unchanged; nothing before the beginning of the file has been judged.
 * @param offset of the stream in the file: only the beginning is judged
 * @throws NotAnExport
 */
export async function* refusingHead(
  stream: AsyncIterable<Buffer>,
  offset: number,
  size: number,
): AsyncGenerator<Buffer> {
  if (offset > 0) return yield* stream;
  const held: Buffer[] = [];
  let bytes = 0;
  let isJudged = false;
  for await (const chunk of stream) {
    if (isJudged) {
      yield chunk;
      continue;
    }
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < Math.min(HEAD_BYTES, size)) continue;
    judge(held);
    isJudged = true;
    yield* held.splice(0);
  }
  // The connection ended early; what follows is not the beginning.
  if (!isJudged && held.length > 0) judge(held);
  yield* held;
}

/** @throws NotAnExport */
function judge(held: readonly Buffer[]): void {
  const head = Buffer.concat(held);
  const problem = problemOfHead(head.subarray(0, HEAD_BYTES));
  release(head);
  if (problem !== undefined) throw new NotAnExport(problem);
}

/** A sentence for a beginning that no export has. @param head as it is stored, maybe compressed */
export function problemOfHead(head: Buffer): string | undefined {
  if (head.every(isSpace))
    return head.length < HEAD_BYTES ? 'The file has nothing but spaces. Export the users again.' : undefined;
  if (head[0] === 0x1f && head[1] === 0x8b) return undefined;
  const picture = PICTURES.find(([signature]) => head.toString('latin1', 0, 16).startsWith(signature));
  if (picture) return `This is ${picture[1]}, not an export. Export the users as CSV or JSON.`;
  // What is in it is judged when all of it has arrived.
  if (mayBeWorkbook(head)) return undefined;
  const text = head.toString('utf8');
  return (
    problemOfBytes(head) ??
    problemOfPage(text) ??
    (isBinary(head) ? PROGRAM : isOnlyHashes(text) ? NAMELESS : undefined)
  );
}

const PICTURES = [
  ['\x89PNG', 'a picture'],
  ['\xff\xd8\xff', 'a picture'],
  ['GIF8', 'a picture'],
  ['RIFF', 'a picture, a sound or a film'],
  ['II*\0', 'a picture'],
  ['MM\0*', 'a picture'],
  ['\x7fELF', 'a program'],
  ['MZ\x90', 'a program'],
] as const;

const PROGRAM = 'This is not text, and not an export of a known kind. Export the users as CSV or JSON.';

const NAMELESS =
  'This is a list of password hashes without names, so nothing says whose they are. Export each hash with the user name, the email address or the id beside it.';

/** A hash as programs write it, such as `$2b$10$…`, alone on its line. */
const HASH = /^\$[a-z0-9-]{1,24}\$[^\s,;|:]{13,}$/i;

/** The last line may go on beyond the beginning of the file. */
function isOnlyHashes(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return lines.length > 0 && lines.every((line) => HASH.test(line.trim().replace(/^"(.*)"$/, '$1')));
}

const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * Zero bytes at odd and at even places: no text has them, except UTF-32, of which more than half are zero. UTF-16 has
 * them at one of both.
 */
function isBinary(head: Buffer): boolean {
  let [even, odd] = [0, 0];
  for (const [at, byte] of head.entries()) {
    if (byte !== 0) continue;
    if (at % 2 === 0) even++;
    else odd++;
  }
  return Math.min(even, odd) > head.length * 0.02 && even + odd < head.length / 2;
}

/** JSON up to here is read as a whole. */
const MOST_WHOLE = 2 ** 20;

/**
 * A sentence for JSON that ends before its last object or list does; undefined for anything else.
 * @param bytes of the file from its beginning
 * @param end the last bytes
 */
export async function cutOff(
  bytes: AsyncIterable<Buffer>,
  { size, end }: { size: number; end: Buffer },
): Promise<string | undefined> {
  let text = '';
  for await (const part of bytes) {
    text += part.toString('latin1');
    if (!JSON_BEGINS.test(text)) return undefined;
    if (size > MOST_WHOLE) break;
  }
  const closing = text.replace(MARK, '').trimStart().startsWith('[') ? ']' : '}';
  const isClosed = end.toString('latin1').trimEnd().endsWith(closing);
  return isClosed && (size > MOST_WHOLE || !isOpen(text)) ? undefined : CUT_OFF;
}

/** The mark of UTF-8. */
const MARK = /^\xef\xbb\xbf/;
/** As certain formats of text begin too, something of JSON has to follow. */
const JSON_BEGINS = /^(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[[{"\]])/;
const CUT_OFF = 'The JSON ends in the middle: the file was cut off. Download or export it again.';

/** Whether objects and lists are still open at the end. Quoted text is left out. */
function isOpen(text: string): boolean {
  let depth = 0;
  for (const [sign] of text.replace(/"(?:[^"\\]|\\.)*"/gs, '').matchAll(/[[\]{}]/g))
    depth += sign === '[' || sign === '{' ? 1 : -1;
  return depth > 0;
}
