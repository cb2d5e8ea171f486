/** Reads all files once, to know what would be sent before anything is. */
import type { Conversion } from '../../sources/convert.ts';
import type { Output } from '../output.ts';
import { openGauge } from './gauge.ts';
import { openCounter, type Summary } from './summary.ts';

export interface Reading {
  /** Of the users' files, in bytes on the disk. */
  size: number;
  /** Bytes of them that were read by now. */
  read(): number;
}

/** @throws UsageError when a file is broken as a whole */
export async function readThrough(
  out: Output,
  conversion: Conversion,
  reading: Reading,
  mails: 'auto' | 'none',
): Promise<Summary> {
  const counter = openCounter(mails);
  const gauge = openGauge(out, reading.size, 'bytes read');
  try {
    for await (const outcomes of conversion.outcomes()) {
      for (const outcome of outcomes) counter.add(outcome);
      gauge.update(reading.read());
    }
  } finally {
    gauge.stop();
  }
  return counter.summary(conversion.unusedHashes());
}
