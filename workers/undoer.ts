/** Undoes imports, one process at a time; see src/imports/undo.ts. */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import { holdLease, releaseLease } from '../src/db/lease.ts';
import type { Pool } from '../src/db/pool.ts';
import { isAnyUndoing, undoRound } from '../src/imports/undo.ts';
import { startLoop } from './loop.ts';

const LEASE_MS = 5000;
const IDLE_MS = 250;
const BATCH = 500;

export function startUndoer({ pool, logger }: { pool: Pool; logger: Logger }): { stop(): Promise<void> } {
  const holder = `${hostname()}:${process.pid}`;
  const loop = startLoop('undoer', logger, async () => {
    if (!(await isAnyUndoing(pool))) return IDLE_MS;
    if (!(await holdLease(pool, 'undoer', holder, LEASE_MS))) return LEASE_MS / 4;
    await undoRound(pool, BATCH);
    return 0;
  });
  return {
    async stop() {
      await loop.stop();
      await releaseLease(pool, 'undoer', holder).catch((err) => logger.warn({ err }, 'the lease runs out by itself'));
    },
  };
}
