/**
 * Runs a large import while a bench measures its effect on other calls, on the Redis queue and on new stores.
 *
 * Guarantee: the measurement begins when the workers are at full speed; its figures are discarded when the import ends
 * first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, perSecond, Skipped } from '../bench.ts';
import { importBody } from './load.ts';
import { redisVersion } from './stores.ts';
import { type Service, type Stores, startService, startStores } from './testbed.ts';

/** Users of the running import, unless `--users` is given. */
export const DEFAULT_USERS = 1_000_000;
/** Users written until the queue's window has been processed once; for a small import, a tenth of its users. */
const FULL_SPEED_AFTER = 4000;
const POLL_MS = 50;

export interface Running extends Service {
  importId: string;
  stores: Stores;
}

interface Measured<T> {
  figures: T;
  /** Users of the running import that were written per second meanwhile. */
  loadPerSecond: number;
}

/**
 * Measures while an import of `users` users runs.
 * @param settings of the service
 * @param options `entry` makes the users of the import
 * @throws Error when the import ends before the measurement; Skipped without Redis
 */
export async function whileRunning<T>(
  { scope, say, workers }: Context,
  users: number,
  measure: (running: Running) => Promise<T>,
  settings: Record<string, string> = {},
  { entry }: { entry?: (n: number) => object } = {},
): Promise<Measured<T>> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  return scope.within(async (inner) => {
    const stores = await startStores(inner, { redis: true });
    const service = await startService(inner, stores, Math.max(1, workers), settings);
    const { importId } = await service.client.upload(importBody(users, service.orgId, entry));
    const running = { ...service, importId: String(importId), stores };
    const before = await untilFullSpeed(running, users);
    say(`an import of ${users} users is running`);
    const start = performance.now();
    const figures = await measure(running);
    const ms = performance.now() - start;
    return { figures, loadPerSecond: perSecond((await written(running, users)) - before, ms) };
  });
}

async function untilFullSpeed(running: Running, users: number): Promise<number> {
  for (;;) {
    const count = await written(running, users);
    if (count >= Math.min(FULL_SPEED_AFTER, users / 10)) return count;
    await sleep(POLL_MS);
  }
}

/** Users written so far. @throws Error when all of them are */
async function written({ client, importId }: Running, users: number): Promise<number> {
  const { state, counts } = await client.call('GET', `/admin/v1/imports/${importId}`);
  if (['IMPORT_STATE_SUCCEEDED', 'IMPORT_STATE_COMPLETED_WITH_ERRORS'].includes(state)) throw tooFew(users);
  if (state !== 'IMPORT_STATE_RUNNING') throw new Error(`The import ended as ${state}: ${JSON.stringify(counts)}`);
  return counts.succeeded;
}

export function tooFew(users: number): Error {
  return new Error(`The import of ${users} users ended before the measurement: increase --users.`);
}
