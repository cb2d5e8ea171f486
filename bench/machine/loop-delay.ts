/**
 * Loaded into a measured process (`--import`): on SIGUSR2 it writes the event loop's delay since the last signal to a
 * file in LOOP_DELAY_DIR. The process' other threads have their own loops and are not measured.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/** The interval between two samples, which the histogram counts as delay. */
const RESOLUTION_MS = 10;

/** Milliseconds. */
export interface LoopDelay {
  p99: number;
  max: number;
}

const dir = process.env.LOOP_DELAY_DIR;
if (isMainThread && dir) writeOnSignal(dir);

function writeOnSignal(folder: string): void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const file = join(folder, `${process.pid}.json`);
  histogram.enable();
  process.on('SIGUSR2', () => {
    const delay: LoopDelay = { p99: late(histogram.percentile(99) / 1e6), max: late(histogram.max / 1e6) };
    histogram.reset();
    // Renamed, so that no reader sees half of the file.
    writeFileSync(`${file}.new`, JSON.stringify(delay));
    renameSync(`${file}.new`, file);
  });
}

/** The delay in an interval between two samples. */
export function late(ms: number): number {
  return Math.max(0, ms - RESOLUTION_MS);
}
