/**
 * Runs one bulk import from the request until its last user can be read, and computes from samples of its progress how
 * its speed changes.
 *
 * It polls the list of imports, which is cheapest for the service because the list contains no users. It fails when not
 * every user succeeded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { user, userId } from './load.ts';
import type { Service } from './testbed.ts';

/** A low rate, so that polling costs next to nothing. */
const POLL_MS = 100;

export interface Passed {
  /** From the request until the last user was read. */
  ms: number;
  /** From the request to its 202. */
  acceptedMs: number;
  /** How many users had ended when, in milliseconds from the request. */
  samples: Sample[];
}

interface ImportOptions {
  pollMs?: number;
  onAccepted?: () => void;
  /** The id of the last user of the body. */
  lastId?: string;
}

/** Imports one user, so that everything that connects with the first job is connected. */
export async function proveReady({ client, orgId }: Service, n: number): Promise<void> {
  await client.call('POST', '/management/v1/users/human/_import', user(n), orgId);
}

/**
 * Sends the import and waits for its end; no other import may run meanwhile.
 * @param body of the users 0 … `users - 1`
 * @throws Error when not every user succeeded
 */
export async function importAll(
  { client }: Service,
  body: Iterable<Buffer>,
  users: number,
  { pollMs = POLL_MS, onAccepted = () => {}, lastId = userId(users - 1) }: ImportOptions = {},
): Promise<Passed> {
  const start = performance.now();
  const { importId } = await client.upload(body);
  const acceptedMs = performance.now() - start;
  onAccepted();
  // A rejected request leaves nothing behind, so no user is written before the 202.
  const samples: Sample[] = [{ ms: acceptedMs, ended: 0 }];
  for (;;) {
    const newest = (await client.call('GET', '/admin/v1/imports?pageSize=1')).imports[0];
    if (newest.importId !== String(importId)) throw new Error(`Import ${importId} is no longer the newest.`);
    const { state, counts } = newest;
    samples.push({ ms: performance.now() - start, ended: counts.total - counts.pending });
    if (state === 'IMPORT_STATE_SUCCEEDED') break;
    if (state !== 'IMPORT_STATE_RUNNING') throw new Error(`The import ended as ${state}: ${JSON.stringify(counts)}`);
    await sleep(pollMs);
  }
  await client.call('GET', `/v2beta/users/${lastId}`);
  return { ms: performance.now() - start, acceptedMs, samples };
}

/**
 * How the speed of an import changes from its first tenth to its last, computed from samples of its progress.
 *
 * Between two samples, progress is taken to be even. On average this places the first user too early and the last too
 * late by half the sampling interval, which slows the first and the last tenth alike.
 */
const TENTHS = 10;

export interface Sample {
  ms: number;
  /** Users that had ended by then; never fewer than in the previous sample. */
  ended: number;
}

/**
 * The time at which `n` users had ended, in the samples' milliseconds.
 *
 * Between two samples, progress is taken to be even. On average this places the first user too early and the last too
 * late by half the sampling interval, which slows the first and the last tenth alike.
 * @param samples the first one before any user ended
 * @throws Error when no sample reaches `n`
 */
export function timeAt(samples: Sample[], n: number): number {
  const i = samples.findIndex((sample) => sample.ended >= n);
  const [before, after] = [samples[i - 1], samples[i]];
  if (!before || !after) throw new Error(`There are no samples around ${n} users.`);
  return before.ms + ((n - before.ended) / (after.ended - before.ended)) * (after.ms - before.ms);
}

/**
 * Users per second in each tenth of `total` users, in the order in which they ended. The first tenth begins when its
 * first user has ended, so that it includes neither the upload nor the latency of the first jobs.
 * @param total more than ten
 */
export function tenthRates(samples: Sample[], total: number): number[] {
  const bounds = Array.from({ length: TENTHS + 1 }, (_, i) => (i === 0 ? 1 : (total * i) / TENTHS));
  const times = bounds.map((n) => timeAt(samples, n));
  const span = (list: number[], i: number) => (list[i + 1] as number) - (list[i] as number);
  return Array.from({ length: TENTHS }, (_, i) => (span(bounds, i) / span(times, i)) * 1000);
}

/** The longest time without progress, in milliseconds, from the first sample on. */
export function longestPause(samples: Sample[]): number {
  let longest = 0;
  let last = samples[0];
  for (const sample of samples) {
    longest = Math.max(longest, sample.ms - (last?.ms ?? 0));
    if (sample.ended > (last?.ended ?? 0)) last = sample;
  }
  return longest;
}
