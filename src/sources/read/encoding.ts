/**
 * In which encoding a file is written, told by its first bytes, and its text as UTF-8.
 */
import { isUtf8 } from 'node:buffer';

export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * A byte order mark tells; then what is valid UTF-8 is taken for it, and everything else for Windows' Western European.
 * @param isWhole `head` is all there is, so no character goes on behind it
 */
export function encodingOf(head: Buffer, isWhole: boolean): Encoding {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[1] === 0 && head[3] === 0 && head[0] !== 0) return 'utf-16le';
  if (head[0] === 0 && head[2] === 0 && head[1] !== 0) return 'utf-16be';
  return isUtf8(isWhole ? head : withoutCutCharacter(head)) ? 'utf-8' : 'windows-1252';
}

/** Without the bytes of a character that goes on behind the sample. */
function withoutCutCharacter(head: Buffer): Buffer {
  let at = head.length;
  while (at > 0 && head.length - at < 4 && ((head[at - 1] as number) & 0xc0) === 0x80) at--;
  return at > 0 && (head[at - 1] as number) >= 0xc0 ? head.subarray(0, at - 1) : head;
}

/** Bytes of the encoding as UTF-8 without a byte order mark. What is UTF-8 already is not judged: its readers do that. */
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
