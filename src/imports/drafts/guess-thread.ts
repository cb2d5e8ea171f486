/** The tasks of a thread of guesses, which block it by design. They ask `guess-pool.ts` for the bytes of the files. */
import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { type ExportBytes, problemOfWorkbook } from '../../sources/read/file.ts';
import { UsageError } from '../../sources/read/records.ts';
import { type DraftFile, type DraftGuess, type GuessOptions, guessFiles, type UploadedFile } from './guess.ts';

/** A file without what a thread cannot be given. */
export interface ToGuess extends DraftFile {
  bytes: Omit<ExportBytes, 'read' | 'close'>;
}

export interface Task {
  files: ToGuess[];
  options: GuessOptions;
  /** Takes an `Ask` at a time, and answers each but the last of a reader with the next bytes; none: it is the end. */
  port: MessagePort;
}

export interface Ask {
  /** Number of the reader, each of which reads its file from the beginning. */
  reader: number;
  /** Index of its file. */
  file: number;
  /** Nothing more is read. */
  isOver: boolean;
}

/** An error would lose its class on the way, so the message of a UsageError is a result. */
export async function guess(task: Task): Promise<{ guess: DraftGuess } | { problem: string }> {
  try {
    return { guess: await withFiles(task, (uploaded) => guessFiles(uploaded, task.options)) };
  } catch (error) {
    if (error instanceof UsageError) return { problem: error.message };
    throw error;
  }
}

/** Why a file, which may be a workbook, cannot be read to its end. */
export function judge(task: Task): Promise<string | undefined> {
  return withFiles(task, async ([file]) => file && problemOfWorkbook(file.bytes));
}

async function withFiles<T>({ files, port }: Task, action: (uploaded: UploadedFile[]) => Promise<T>): Promise<T> {
  let readers = 0;
  async function* read(file: number): AsyncGenerator<Buffer> {
    const reader = readers++;
    try {
      for (;;) {
        port.postMessage({ reader, file, isOver: false } satisfies Ask);
        const [bytes] = (await once(port, 'message')) as [Uint8Array | undefined];
        if (!bytes) return;
        yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      }
    } finally {
      port.postMessage({ reader, file, isOver: true } satisfies Ask);
    }
  }
  try {
    return await action(
      files.map(({ bytes, ...file }, i) => ({
        ...file,
        bytes: { ...bytes, read: () => read(i), close: async () => {} },
      })),
    );
  } finally {
    port.close();
  }
}
