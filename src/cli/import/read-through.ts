/** Reads all files to their end, and how far they have been read. */
import type { Conversion } from '../../sources/convert.ts';
import { openCounter, type Summary } from '../../sources/summary.ts';
import type { Output } from '../terminal/output.ts';
import type { Chosen } from './choose.ts';
import { openGauge } from './gauge.ts';

export interface Reading {
  /** Size of the users' files on disk, in bytes. */
  size: number;
  /** Bytes of them that have been read so far. */
  read(): number;
  /** @param listen called whenever more bytes have been read, even if they contain no record */
  onRead(listen: () => void): void;
}

export function openReading({ files }: Chosen): Reading & { note(file: string, bytes: number): void } {
  const users = files.filter((file) => !file.isHashes);
  const read = new Map<string, number>();
  let listener = () => {};
  return {
    size: users.reduce((sum, { file }) => sum + file.size, 0),
    read: () => users.reduce((sum, { file }) => sum + (read.get(file.name) ?? 0), 0),
    note(file, bytes) {
      read.set(file, bytes);
      listener();
    },
    onRead(listen) {
      listener = listen;
    },
  };
}

/** @throws UsageError when a file as a whole is not valid */
export async function readThrough(
  out: Output,
  conversion: Conversion,
  reading: Reading,
  given: { atSource?: boolean } = {},
): Promise<Summary> {
  const counter = openCounter(given);
  const gauge = openGauge(out, reading.size, 'read', { isBytes: true });
  reading.onRead(() => gauge.update(reading.read()));
  try {
    for await (const outcomes of conversion.outcomes()) {
      for (const outcome of outcomes) counter.add(outcome);
    }
  } finally {
    reading.onRead(() => {});
    gauge.stop();
  }
  return counter.summary(conversion.unusedHashes());
}
