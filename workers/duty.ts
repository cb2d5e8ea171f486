/**
 * A duty that one process does at a time, under a lease.
 *
 * Guarantee: a process whose rounds fail gives the duty up after FAULTS of them and leaves it to the others for REST_MS; it
 * then tries again, as there may be no other. It does not renew the lease meanwhile, so that giving up needs no database.
 * On crash: the lease runs out within LEASE_MS, and another process takes the duty.
 */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import { holdLease, releaseLease } from '../src/db/lease.ts';
import type { Pool } from '../src/db/pool.ts';
import { withTimeout } from '../src/timeout.ts';

const LEASE_MS = 5000;
const RENEW_MS = 1500;
/** One may be an accident that is over a moment later. */
const FAULTS = 2;
/** Others ask every RENEW_MS. */
const REST_MS = 2 * RENEW_MS;
const RELEASE_MS = 2000;

export interface Duty {
  /** Does a round if the duty is ours; answers after how many milliseconds to come again. @throws what the round throws */
  round(work: () => Promise<number>): Promise<number>;
  /** Leaves the duty to the others at once. */
  giveUp(): Promise<void>;
}

export interface DutyDeps {
  pool: Pool;
  logger: Logger;
  /** Is told whether the rounds of this name succeed; that of somebody else are not ours to fail. */
  condition?: Condition | undefined;
}

/** @param holder names this process among all */
export function openDuty(
  name: string,
  { pool, logger, condition }: DutyDeps,
  holder = `${hostname()}:${process.pid}`,
): Duty {
  let heldUntil = 0;
  let restUntil = 0;
  let faults = 0;

  async function isOurs(): Promise<boolean> {
    const now = Date.now();
    if (now <= heldUntil - (LEASE_MS - RENEW_MS)) return true;
    if (!(await holdLease(pool, name, holder, LEASE_MS))) return false;
    heldUntil = now + LEASE_MS;
    return true;
  }

  async function giveUp(): Promise<void> {
    heldUntil = 0;
    restUntil = Date.now() + REST_MS;
    await withTimeout(releaseLease(pool, name, holder), RELEASE_MS, 'the database').catch((err) =>
      logger.warn({ err, duty: name }, 'the lease runs out by itself'),
    );
  }

  return {
    async round(work) {
      if (Date.now() < restUntil) return RENEW_MS;
      try {
        const ms = (await isOurs()) ? await work() : RENEW_MS;
        faults = 0;
        condition?.working(name);
        return ms;
      } catch (fault) {
        faults++;
        condition?.failing(name);
        if (faults >= FAULTS) await giveUp();
        throw fault;
      }
    },
    giveUp,
  };
}
