/**
 * The delay of the event loops of API and workers during a run. The API reports it at `/metrics`; workers are started
 * with loop-delay.ts. Each reading resets both.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { rounded } from '../bench.ts';
import { type LoopDelay, late } from './loop-delay.ts';

const FILE = fileURLToPath(new URL('./loop-delay.ts', import.meta.url));
const POLL_MS = 5;
const PATIENCE_MS = 5000;

/** How to start a process so that `workerDelay` can read its delay. */
export function loopDelayOptions(dir: string): { settings: Record<string, string>; execArgv: string[] } {
  return { settings: { LOOP_DELAY_DIR: dir }, execArgv: ['--import', FILE] };
}

/** The delay since the last reading. @throws Error when the process does not write it */
export async function workerDelay(dir: string, pid: number): Promise<LoopDelay> {
  const file = join(dir, `${pid}.json`);
  process.kill(pid, 'SIGUSR2');
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(POLL_MS)) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    await rm(file);
    return toHundredths(JSON.parse(text) as LoopDelay);
  }
  throw new Error(`Process ${pid} does not report the delay of its event loop.`);
}

/** The delay since the API's metrics were last read, by any reader. */
export async function apiDelay(baseUrl: string): Promise<LoopDelay> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return toHundredths(readLag(text));
}

/** prom-client measures with the same resolution as loop-delay.ts. @throws Error when the figures are missing */
export function readLag(metrics: string): LoopDelay {
  const figure = (name: string) => {
    const seconds = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(metrics)?.[1];
    if (seconds === undefined) throw new Error('The API does not report the delay of its event loop.');
    return late(Number(seconds) * 1000);
  };
  return { p99: figure('p99'), max: figure('max') };
}

function toHundredths({ p99, max }: LoopDelay): LoopDelay {
  return { p99: rounded(p99, 2), max: rounded(max, 2) };
}
