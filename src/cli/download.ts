/** Streams a report or an export to a file or to standard output. */
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { number } from './follow/progress.ts';
import { Unreachable } from './service/api.ts';
import type { Session } from './service/session.ts';
import { Interrupted, untilInterrupted } from './terminal/failure.ts';
import { printableLines } from './terminal/output.ts';
import { saveTo } from './terminal/save.ts';

export const OUTPUT = {
  type: 'string',
  alias: 'o',
  requiresArg: true,
  default: '-',
  describe: 'file; - is standard output',
} as const;

/**
 * @param what what is streamed: `report`
 * @param output the path of a file, or `-`
 * @throws Failure when the stream is cut off; `Interrupted`
 */
export async function download(
  session: Session,
  what: string,
  output: string,
  open: (signal: AbortSignal) => Promise<Response>,
): Promise<void> {
  const left = new Interrupted(`The ${what} was not finished.`);
  await untilInterrupted(left, async (signal) => {
    const response = await open(signal);
    try {
      await deliver(session, output, Readable.fromWeb(response.body as ReadableStream<Uint8Array>), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof TypeError
        ? new Unreachable(session.api.url, { message: `the ${what} was cut off` })
        : error;
    }
  });
}

async function deliver({ out }: Session, output: string, text: Readable, signal: AbortSignal): Promise<void> {
  if (output === '-') {
    await pipeline([text, ...(out.stream.isTTY ? [shown()] : []), out.stream], { signal, end: false });
    return;
  }
  const bytes = await saveTo(output, text, signal);
  out.result({ file: output, bytes });
  if (!out.json) out.note(`${output}: ${number(bytes)} bytes.`);
}

/** Makes text safe for a terminal; a file or another program gets every byte unchanged. */
function shown(): Transform {
  const decoder = new TextDecoder();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = decoder.decode(chunk, { stream: true });
      done(null, printableLines(text.replaceAll('\r\n', '\n')));
    },
  });
}
