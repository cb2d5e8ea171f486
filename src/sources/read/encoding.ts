/**
 * Detects a file's encoding by its first bytes, and converts its text to UTF-8.
 */
import { isUtf8 } from 'node:buffer';

export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * A byte order mark decides. Without one, valid UTF-8 counts as UTF-8, and everything else as windows-1252.
 * @param isWhole `head` is the whole file, so no character continues after it
 */
export function encodingOf(head: Buffer, isWhole: boolean): Encoding {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[1] === 0 && head[3] === 0 && head[0] !== 0) return 'utf-16le';
  if (head[0] === 0 && head[2] === 0 && head[1] !== 0) return 'utf-16be';
  return isUtf8(isWhole ? head : withoutCutCharacter(head)) ? 'utf-8' : 'windows-1252';
}

/** Without the bytes of a character that continues after the sample. */
function withoutCutCharacter(head: Buffer): Buffer {
  let at = head.length;
  while (at > 0 && head.length - at < 4 && ((head[at - 1] as number) & 0xc0) === 0x80) at--;
  return at > 0 && (head[at - 1] as number) >= 0xc0 ? head.subarray(0, at - 1) : head;
}

/**
 * The text as UTF-8 without a byte order mark. Text that already is UTF-8 is not validated here: the readers do that.
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  if (encoding === 'utf-8') return yield* withoutMark(chunks);
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  const last = decoder.decode();
  if (last !== '') yield Buffer.from(last);
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    yield hasMark ? chunk.subarray(3) : chunk;
    isFirst = false;
  }
}
