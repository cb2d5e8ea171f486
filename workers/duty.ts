/**
 * A duty that one process performs at a time, under a lease.
 *
 * Guarantee: after FAULTS failed rounds, a process gives up the duty and leaves it to the others for REST_MS. It then
 * tries again, as there may be no other process. It does not renew the lease in the meantime, so giving up needs no
 * database.
 * On crash: the lease expires within LEASE_MS, and another process takes the duty.
 */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import { holdLease, releaseLease } from '../src/db/lease.ts';
import type { Pool } from '../src/db/pool.ts';
import { withTimeout } from '../src/timeout.ts';
import type { Pause } from './loop.ts';

const LEASE_MS = 5000;
/** A duty must be called at least this often, to keep its lease. */
export const RENEW_MS = 1500;
/** A single failure may be transient. */
const FAULTS = 2;
/** The other processes try to take the lease every RENEW_MS. */
const REST_MS = 2 * RENEW_MS;
const RELEASE_MS = 2000;

export interface Duty {
  /**
   * Runs a round if this process holds the duty. Returns the pause until the next call.
   * @throws what `work` throws, and errors of the database
   */
  round(work: () => Promise<Pause>): Promise<Pause>;
  /** Releases the duty at once, so that another process can take it. */
  giveUp(): Promise<void>;
}

export interface DutyDeps {
  pool: Pool;
  logger: Logger;
  /** Gets whether the rounds of this duty succeed in this process. */
  condition?: Condition | undefined;
}

/** @param holder identifies this process among all processes */
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
      logger.warn({ err, duty: name }, 'the lease was not released; it will expire'),
    );
  }

  return {
    async round(work) {
      if (Date.now() < restUntil) return RENEW_MS;
      try {
        const pause = (await isOurs()) ? await work() : RENEW_MS;
        faults = 0;
        condition?.working(name);
        return pause;
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
