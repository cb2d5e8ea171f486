/**
 * Runs guesses, and the first reading of a workbook, in threads, never on the event loop: files can be made so that their
 * beginning takes seconds to parse.
 *
 * Guarantee: a task takes a thread for at most LONGEST_MS, and a bounded amount of its memory. Threads start with the
 * first task and end when idle; they keep no process alive.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { UsageError } from '../../sources/read/records.ts';
import { type ExportDeps, openFiles } from './convert-request.ts';
import type { Draft } from './draft.ts';
import type { DraftGuess, GuessOptions, UploadedFile } from './guess.ts';
import type { Ask, guess, judge, Task } from './guess-thread.ts';

const THREADS = 2;
const IDLE_MS = 30_000;
/** Twenty usual files take some seconds on a slow machine. */
const LONGEST_MS = 30_000;
const MOST_MEGABYTES = 256;

let threads: Piscina | undefined;

function openThreads(): Piscina {
  return new Piscina({
    filename: new URL('./guess-thread.ts', import.meta.url).href,
    name: 'guess',
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
}

/** @throws UsageError when a file is not an export, or the guess takes too long */
export async function guessDraft(
  deps: ExportDeps,
  draft: Draft,
  { longestMs = LONGEST_MS, ...options }: GuessOptions & { longestMs?: number } = {},
): Promise<DraftGuess> {
  const begun = { ...draft, files: draft.files.filter(({ offset }) => offset > 0) };
  const files = await openFiles(deps, begun);
  const result = await inThread<Awaited<ReturnType<typeof guess>>>('guess', { files, options }, longestMs);
  if ('problem' in result) throw new UsageError(result.problem);
  return result.guess;
}

/**
 * Why a file that may be a workbook cannot be read to its end; undefined where it can, and where that takes too long: the
 * conversion has more time.
 */
export async function problemOfSheets(
  file: UploadedFile,
  { longestMs = LONGEST_MS }: { longestMs?: number } = {},
): Promise<string | undefined> {
  try {
    return await inThread<Awaited<ReturnType<typeof judge>>>('judge', { files: [file], options: {} }, longestMs);
  } catch (error) {
    if (error instanceof TooLong) return undefined;
    throw error;
  }
}

/** Runs a task of `guess-thread.ts`. @throws TooLong */
async function inThread<T>(
  name: 'guess' | 'judge',
  { files, options }: { files: readonly UploadedFile[]; options: GuessOptions },
  longestMs: number,
): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  const ended = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  serveBytes(port1, files, {
    // The first question comes when the task no longer waits for a thread.
    onAsked: () => {
      timer ??= setTimeout(() => ended.abort(new TooLong()), longestMs);
    },
    onError: (error) => ended.abort(error),
  });
  try {
    threads ??= openThreads();
    const task: Task = { files: files.map(withoutBytes), options, port: port2 };
    return await threads.run(task, { name, transferList: [port2], signal: ended.signal });
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason;
    throw (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' ? new TooLong() : error;
  } finally {
    clearTimeout(timer);
    port1.close();
  }
}

function withoutBytes({ fileId, kind, bytes: { read: _, close: __, ...bytes } }: UploadedFile) {
  return { fileId, kind, bytes };
}

/** Answers the questions of a thread. It asks one at a time, so answers need no number. */
function serveBytes(
  port: MessagePort,
  files: readonly UploadedFile[],
  { onAsked, onError }: { onAsked(): void; onError(error: unknown): void },
): void {
  const readers = new Map<number, AsyncIterator<Buffer>>();
  async function answer({ reader, file, isOver }: Ask): Promise<void> {
    const known = readers.get(reader) ?? (files[file] as UploadedFile).bytes.read()[Symbol.asyncIterator]();
    readers.set(reader, known);
    if (isOver) {
      readers.delete(reader);
      await known.return?.();
      return;
    }
    const { value } = await known.next();
    // A copy: a part is sent with all the memory that it is a view of.
    const bytes = value && new Uint8Array(value);
    port.postMessage(bytes, bytes ? [bytes.buffer] : []);
  }
  port.on('message', (ask: Ask) => {
    onAsked();
    answer(ask).catch(onError);
  });
}

class TooLong extends UsageError {
  constructor() {
    super(
      'The beginning of the files takes too much time or memory to be recognized. Choose the source, and convert the files.',
    );
  }
}
