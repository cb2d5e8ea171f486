/**
 * Loaded into a process that is measured (`--import`): on SIGUSR2 it writes how late the event loop was since the last
 * time, to a file in LOOP_DELAY_DIR. Threads of the process have a loop of their own and are not meant.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/** As long is the pause between two looks, which the histogram counts as delay. */
export const RESOLUTION_MS = 10;

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
    // Renamed, so that nobody reads half of it.
    writeFileSync(`${file}.new`, JSON.stringify(delay));
    renameSync(`${file}.new`, file);
  });
}

/** What of a pause between two looks is delay. */
export function late(ms: number): number {
  return Math.max(0, ms - RESOLUTION_MS);
}
