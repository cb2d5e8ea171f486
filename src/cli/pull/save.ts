/**
 * Saves the users of an old system in a file that `muster import` reads.
 *
 * Guarantee: the file appears when it is complete; only its owner can read it.
 * On crash: what was read is in `….part`; the next run cuts off what came after the last page of the state, and continues.
 */
import { open, rename } from 'node:fs/promises';
import type { Fields } from '../../sources/source.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

export interface SavedFile {
  /** Returns the size of the file so far. */
  add(records: readonly Fields[]): Promise<number>;
  finish(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param bytes of an earlier attempt that are kept
 * @throws Failure when it cannot be written
 */
export async function openSaved(path: string, bytes: number, asText: (record: Fields) => string): Promise<SavedFile> {
  const part = `${path}.part`;
  const unwritable = (error: Error): never => {
    throw new Failure(`${path} cannot be written: ${error.message}.`, { exitCode: EXIT.usage });
  };
  const file = await open(part, bytes > 0 ? 'r+' : 'w', 0o600).catch(unwritable);
  await file.truncate(bytes);
  let size = bytes;
  return {
    async add(records) {
      const text = Buffer.from(records.map((record) => `${asText(record)}\n`).join(''));
      await file.write(text, 0, text.length, size).catch(unwritable);
      await file.sync();
      size += text.length;
      return size;
    },
    async finish() {
      await file.close();
      await rename(part, path).catch(unwritable);
    },
    close: () => file.close(),
  };
}
