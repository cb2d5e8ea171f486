/** Keeps the queue filled, one process at a time; see src/imports/dispatch.ts. */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { holdLease, releaseLease } from '../src/db/lease.ts';
import type { Pool } from '../src/db/pool.ts';
import { dispatchRound } from '../src/imports/dispatch.ts';
import type { Queues } from '../src/queue/queues.ts';
import { startLoop } from './loop.ts';

const LEASE_MS = 5000;
const RENEW_MS = 1500;
const BUSY_MS = 10;
/** When no import had room for more jobs: about as long as a worker takes for a few hundred. */
const FULL_MS = 30;
const IDLE_MS = 100;
const SLICE = 1000;

export function startDispatcher(deps: { pool: Pool; config: Config; queues: Queues; logger: Logger }): {
  stop(): Promise<void>;
} {
  const { pool, config, queues, logger } = deps;
  const holder = `${hostname()}:${process.pid}`;
  const settings = { window: config.DISPATCH_WINDOW, slice: Math.min(SLICE, config.DISPATCH_WINDOW) };
  let heldUntil = 0;

  const loop = startLoop('dispatcher', logger, async () => {
    if (Date.now() > heldUntil - (LEASE_MS - RENEW_MS)) {
      const asked = Date.now();
      if (!(await holdLease(pool, 'dispatcher', holder, LEASE_MS))) return RENEW_MS;
      heldUntil = asked + LEASE_MS;
    }
    const { open, added } = await dispatchRound({ pool, queues }, settings);
    if (open === 0) return IDLE_MS;
    return added > 0 ? BUSY_MS : FULL_MS;
  });

  return {
    async stop() {
      await loop.stop();
      await releaseLease(pool, 'dispatcher', holder).catch((err) =>
        logger.warn({ err }, 'the lease runs out by itself'),
      );
    },
  };
}
