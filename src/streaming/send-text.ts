/** Sends text of any size to a client, as fast as the client takes it. */
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const CHUNK_CHARS = 65_536;
/** What is ready is sent after this time, as the next piece may take long. */
const CHUNK_MS = 1000;

/** Returns when all is sent. A client that disconnects ends it, which is not an error. */
export async function sendText(to: Writable, pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(inChunks(pieces), { objectMode: false }), to);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** Joins small pieces into chunks, as every write to the HTTP response has a cost. */
async function* inChunks(pieces: AsyncIterable<string>): AsyncIterable<string> {
  let chunk = '';
  let since = Date.now();
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARS && Date.now() - since < CHUNK_MS) continue;
    yield chunk;
    chunk = '';
    since = Date.now();
  }
  if (chunk !== '') yield chunk;
}
