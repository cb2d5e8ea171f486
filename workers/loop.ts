/**
 * What all duties are made of: loops that run a round repeatedly, often while there is work and rarely when there is
 * none; duties that one process performs at a time, under a lease; and one look for the work of all loops of a process,
 * as one statement instead of one for each loop.
 *
 * On crash: the lease of a duty expires within LEASE_MS, and another process takes the duty.
 */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import { IS_WORK } from '../src/imports/drafts/convert-lease.ts';
import { holdLease, isFree, releaseLease } from '../src/platform/db/lease.ts';
import { type Db, type Pool, prepared } from '../src/platform/db/pool.ts';
import { oneRow } from '../src/platform/db/rows.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { withTimeout } from '../src/platform/timeouts.ts';

const LEASE_MS = 5000;
/** A duty must be called at least this often, to keep its lease. */
export const RENEW_MS = 1500;
/** A single failure may be transient. */
const FAULTS = 2;
/** The other processes try to take the lease every RENEW_MS. */
const REST_MS = 2 * RENEW_MS;
const RELEASE_MS = 2000;

/** The time between two looks for work. */
export const LOOK_MS = 80;

// Each part reads a few entries of a small partial index: held mails and mails to be tried again later are not counted.
const LOOK = `
select exists (select from imports where state = 'running') as dispatch,
  exists (select from imports where state in ('receiving', 'running')) as rescue,
  exists (select from imports where state = 'undoing') as undo,
  exists (select from mail_outbox where state = 'pending' and import_id is null and next_attempt_at <= now())
    or exists (select from mail_outbox where state = 'pending' and import_id is not null) as mail,
  exists (
    select from import_preparations d
    where ${IS_WORK} and d.expires_at > clock_timestamp()
      and ${isFree('d.held_until')}) as convert,
  exists (select from webhook_deliveries where state = 'pending' and next_attempt_at <= now()) as webhook`;

export interface Loop {
  /** Starts no further round; resolves when the current one is over. */
  stop(): Promise<void>;
}

/**
 * What a loop waits for between two rounds: milliseconds, or something that calls `wake`. It returns how to end the
 * wait, which is called once, after `wake` too.
 */
export type Pause = number | ((wake: () => void) => () => void);

export interface LoopOptions {
  /** Milliseconds from a failed round to the next one; 1000 by default. */
  afterFaultMs?: number;
  /** Gets whether the rounds of this loop succeed. */
  condition?: Condition | undefined;
}

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

export type Work = 'dispatch' | 'rescue' | 'undo' | 'mail' | 'convert' | 'webhook';

export interface WaitLimits {
  /** Ignores work until then, in milliseconds. */
  afterMs?: number;
  /** Waits no longer, in milliseconds. */
  withinMs?: number;
}

export interface WorkPoller {
  /** A pause of a loop that ends when there may be work of this kind. */
  until(work: Work, limits?: WaitLimits): Pause;
}

interface Waiter {
  work: Work;
  /** By `performance.now()`. */
  from: number;
  wake: () => void;
}

/**
 * Runs the round repeatedly, and never two rounds at once.
 * @param round returns the pause until the next round; if it throws, the error is logged and the loop continues
 */
export function startLoop(
  name: string,
  logger: Logger,
  round: () => Promise<Pause>,
  { afterFaultMs = 1000, condition }: LoopOptions = {},
): Loop {
  let stopped = false;
  let wake = () => {};
  let end = () => {};

  async function run(): Promise<void> {
    while (!stopped) {
      const pause = await attempt(name, logger, round, { afterFaultMs, condition });
      if (stopped) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        end = begin(pause, resolve);
      });
      end();
    }
  }

  const running = run();
  return {
    stop() {
      stopped = true;
      wake();
      return running;
    },
  };
}

/** One round. @returns the pause after it, also if it failed */
async function attempt(
  name: string,
  logger: Logger,
  round: () => Promise<Pause>,
  { afterFaultMs, condition }: Required<Pick<LoopOptions, 'afterFaultMs'>> & LoopOptions,
): Promise<Pause> {
  try {
    const pause = await round();
    condition?.working(name);
    return pause;
  } catch (err) {
    condition?.failing(name);
    logger.warn({ err, loop: name }, 'a round failed');
    return afterFaultMs;
  }
}

/** A pause that ends when one of these ends. */
export function either(...pauses: Pause[]): Pause {
  return (wake) => {
    const ends = pauses.map((pause) => begin(pause, wake));
    return () => {
      for (const end of ends) end();
    };
  };
}

function begin(pause: Pause, wake: () => void): () => void {
  return typeof pause === 'number' ? wakeAfter(pause, wake) : pause(wake);
}

function wakeAfter(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}

/**
 * A duty that one process performs at a time, under a lease.
 *
 * Guarantee: after FAULTS failed rounds, a process gives up the duty and leaves it to the others for REST_MS. It then
 * tries again, as there may be no other process. It does not renew the lease in the meantime, so giving up needs no
 * database.
 * @param holder identifies this process among all processes
 */
export function openDuty(
  name: string,
  { pool, logger, condition }: DutyDeps,
  holder = `${hostname()}:${process.pid}`,
): Duty {
  const lease = openOwnLease(pool, name, holder);
  let restUntil = 0;
  let faults = 0;

  async function giveUp(): Promise<void> {
    restUntil = Date.now() + REST_MS;
    await lease
      .release()
      .catch((err) => logger.warn({ err, duty: name }, 'the lease was not released; it will expire'));
  }

  return {
    async round(work) {
      if (Date.now() < restUntil) return RENEW_MS;
      try {
        const pause = (await lease.isOurs()) ? await work() : RENEW_MS;
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

/** The lease of a duty, of which this process remembers for RENEW_MS that it has it. */
function openOwnLease(pool: Pool, name: string, holder: string) {
  let heldUntil = 0;
  return {
    async isOurs(): Promise<boolean> {
      const now = Date.now();
      if (now <= heldUntil - (LEASE_MS - RENEW_MS)) return true;
      if (!(await holdLease(pool, name, holder, LEASE_MS))) return false;
      heldUntil = now + LEASE_MS;
      return true;
    },
    /** @throws TimedOut, and errors of the database */
    async release(): Promise<void> {
      heldUntil = 0;
      await withTimeout(releaseLease(pool, name, holder), RELEASE_MS, 'the database');
    },
  };
}

/**
 * Looks for work for all loops of this process, only while a loop waits, so that there is nothing to close.
 *
 * Guarantee: a loop that waits here starts its round within LOOK_MS of the work being there. An answer is always from a
 * look that began after the loop began to wait. When a look fails, all loops start: their own statements then fail too,
 * and say so.
 */
export function openWorkPoller(db: Db): WorkPoller {
  const waiting = new Set<Waiter>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function poller(): Promise<void> {
    isLooking = true;
    const asking = [...waiting].filter(({ from }) => from <= performance.now());
    const found = await findWork(db).catch(() => undefined); // the loops will say so
    isLooking = false;
    lookedAt = performance.now();
    for (const waiter of asking) if (!found || found[waiter.work]) waiter.wake();
    plan();
  }

  function plan(): void {
    clearTimeout(timer);
    if (isLooking || waiting.size === 0) return;
    const first = Math.min(...Array.from(waiting, ({ from }) => from));
    timer = setTimeout(poller, Math.max(0, Math.max(first, lookedAt + LOOK_MS) - performance.now()));
  }

  return {
    until(work, { afterMs = 0, withinMs } = {}) {
      return (wake) => {
        const waiter = { work, from: performance.now() + afterMs, wake };
        const limit = withinMs === undefined ? undefined : setTimeout(wake, withinMs);
        waiting.add(waiter);
        plan();
        return () => {
          clearTimeout(limit);
          waiting.delete(waiter);
          if (waiting.size === 0) clearTimeout(timer);
        };
      };
    },
  };
}

/** Which kinds of work there may be. */
export async function findWork(db: Db): Promise<Record<Work, boolean>> {
  const { rows } = await db.query<Record<Work, boolean>>(prepared(LOOK, []));
  return oneRow(rows);
}
