/**
 * Moves due mails from the outbox to the queue, as pointers; gives each mail its time slot of the rate of all
 * processes; and writes the outcomes of deliveries.
 *
 * Guarantee: the queue holds a bounded number of mails however many the outbox holds. Any number of relays may run, as
 * only one of them claims a row (`for update skip locked`). A row settles once, and its import counts it in the same
 * transaction; nothing else writes outcomes.
 *
 * On crash: a claim moves the row's next attempt into the future. If we crash after it, or the queue loses the job, the
 * row is due again at that time. If the queue still has the job's id, it ignores the duplicate. Time slots of a crashed
 * process are lost.
 */
import { type Patience, retryWhileUnavailable } from '../../platform/db/faults.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { MailOutbox } from '../../platform/db/tables.ts';
import {
  CLAIM_MS,
  type ClaimedMail,
  claimDue,
  HOW_TO_SIGN_IN,
  IS_UNSENT,
  type MailPointer,
  prepareReleased,
  releaseClaim,
} from './outbox.ts';

/** The queue as the relay uses it. */
export interface MailQueue {
  /** Number of jobs that wait or run. */
  depth(): Promise<number>;
  add(jobs: Array<{ id: string; data: MailPointer; urgent?: boolean }>): Promise<void>;
}

export interface RelayDeps {
  pool: Pool;
  queue: MailQueue;
}

export interface RelayOptions {
  /** Maximum number of mails in the queue. */
  window: number;
  /** Time after which a claimed mail is due again, in milliseconds. */
  handOverMs?: number;
  /** Mails of one import a second; 0 or absent: no limit. */
  perImportRate?: number;
  /** How long the code of a released mail is valid from its hand-over on, in milliseconds. */
  codeTtlMs: number;
  /** For releasing claims after a failed hand-over: queue and database may be unavailable at the same time. */
  patience?: Patience;
}

const SLICE = 500;

/** Hands one slice over to the queue; returns its number of mails. */
export async function relayOnce({ pool, queue }: RelayDeps, options: RelayOptions): Promise<number> {
  const room = options.window - (await queue.depth());
  if (room <= 0) return 0;
  const { handOverMs = CLAIM_MS, perImportRate = 0, codeTtlMs } = options;
  const due = await claimDue(pool, Math.min(room, SLICE), { handOverMs, perImportRate });
  if (due.length === 0) return 0;
  try {
    const released = due.filter((mail) => mail.isReleased).map((mail) => mail.pointer.id);
    await prepareReleased(pool, released, codeTtlMs);
    await queue.add(due.map(jobOf));
  } catch (error) {
    const ids = due.map(({ pointer }) => pointer.id);
    await retryWhileUnavailable(() => releaseClaim(pool, ids), options.patience ?? { ms: 0 });
    throw error;
  }
  return due.length;
}

function jobOf({ pointer: data, isAlone }: ClaimedMail) {
  return { id: `mail-${data.id}-${data.attempt}`, data, ...(isAlone ? { urgent: true } : {}) };
}

/**
 * One rate limit for all processes that send: each mail gets its own time slot, evenly spaced after the one before.
 *
 * The next free slot is a row of the database. Each request moves it ahead by the number of slots it takes. It never
 * lies in the past: unused slots are lost, not saved up (a leaky bucket of one, the Generic Cell Rate Algorithm of
 * ITU-T I.371). The row is never further ahead than MOST_AHEAD, even after crashes and changes of the clock.
 */
export interface RateLimiter {
  /** Resolves to true when one more mail may go, to false when stopped. @throws when the database cannot be reached */
  turn(): Promise<boolean>;
  /** Ends all waits. */
  stop(): void;
}

interface RateSlot {
  resolve(may: boolean): void;
  reject(error: unknown): void;
}

/** More than all processes together take ahead in normal operation: each takes the slots of about a second. */
const MOST_AHEAD = '60 seconds';

/** Opens the limit of mails. @param rate mails a second over all processes */
export function openRateLimiter(db: Db, rate: number): RateLimiter {
  let asking: RateSlot[] = [];
  let isStopped = false;
  const waiting = new Map<NodeJS.Timeout, RateSlot>();

  async function take(): Promise<void> {
    const turns = asking;
    asking = [];
    try {
      const first = await firstOf(db, turns.length, rate);
      for (const [n, turn] of turns.entries()) wait(turn, Math.ceil(first + (n * 1000) / rate));
    } catch (error) {
      for (const { reject } of turns) reject(error);
    }
  }
  function wait(turn: RateSlot, ms: number): void {
    if (isStopped) {
      turn.resolve(false);
      return;
    }
    const timer = setTimeout(() => {
      waiting.delete(timer);
      turn.resolve(true);
    }, ms);
    waiting.set(timer, turn);
  }
  return {
    turn: () =>
      new Promise((resolve, reject) => {
        if (asking.length === 0) setImmediate(() => void take());
        asking.push({ resolve, reject });
      }),
    stop() {
      isStopped = true;
      giveUp(waiting);
    },
  };
}

function giveUp(waiting: Map<NodeJS.Timeout, RateSlot>): void {
  for (const [timer, turn] of waiting) {
    clearTimeout(timer);
    turn.resolve(false);
  }
  waiting.clear();
}

/** Milliseconds until the first of `count` slots. */
async function firstOf(db: Db, count: number, rate: number): Promise<number> {
  const { rows } = await db.query<{ ms: number }>({
    name: 'mail-pace',
    text: `insert into mail_pace as p (name, free_at) values ('mails', clock_timestamp() + $1 * interval '1 second')
      on conflict (name) do update set free_at = $1 * interval '1 second' +
        least(greatest(p.free_at, clock_timestamp()), clock_timestamp() + interval '${MOST_AHEAD}')
      returning (extract(epoch from free_at - clock_timestamp()) - $1)::float8 * 1000 as ms`,
    values: [count / rate],
  });
  return Math.max(0, rows[0]?.ms ?? 0);
}

/** How one attempt ended. `state` pending: retried after `delayMs`. */
export interface MailOutcome {
  id: string;
  attempt: number;
  importId: string | null;
  state: 'sent' | 'failed' | 'pending';
  error: string | null;
  delayMs: number;
}

/**
 * Writes the outcomes of many mails at once. A mail that was sent counts as sent regardless of other attempts; a
 * failure counts only for its own attempt. Each mail settles, and is counted on its import, once.
 */
export async function recordDeliveries(pool: Pool, outcomes: MailOutcome[]): Promise<void> {
  await transaction(pool, async (db) => {
    // Locks imports before mails, as an undo does, whose deletes reach the mails: the two cannot deadlock.
    const imports = outcomes.flatMap((o) => (o.importId && o.state !== 'pending' ? [o.importId] : []));
    if (imports.length > 0) {
      await db.query('select id from imports where id = any($1::bigint[]) order by id for update', [imports]);
    }
    const counts = await writeOutcomes(db, outcomes);
    if (counts.length > 0) await countOnImports(db, counts);
  });
}

interface ImportCount {
  /** Of these, mails that tell how to sign in. */
  toldSent: number;
  toldFailed: number;
  import_id: NonNullable<MailOutbox['import_id']>;
  sent: number;
  failed: number;
}

async function writeOutcomes(db: Db, outcomes: MailOutcome[]): Promise<ImportCount[]> {
  const { rows } = await db.query<ImportCount>(
    `with settled as (
       update mail_outbox m
       set state = o.state, attempts = m.attempts + 1, last_error = o.error,
           next_attempt_at = clock_timestamp() + o.delay_ms * interval '1 millisecond',
           settled_at = case when o.state = 'pending' then null else clock_timestamp() end,
           -- Nothing is kept of somebody who has deleted their account.
           address = case when m.user_id is null and o.state <> 'pending' then null else m.address end
       from unnest($1::bigint[], $2::int[], $3::mail_state[], $4::text[], $5::bigint[])
         as o (id, attempt, state, error, delay_ms)
       where m.id = any($1::bigint[]) and m.id = o.id and ${IS_UNSENT} and (o.state = 'sent' or m.attempts = o.attempt)
       returning m.import_id, m.state, m.kind)
     select import_id, count(*) filter (where state = 'sent')::int as sent,
            count(*) filter (where state = 'failed')::int as failed,
            count(*) filter (where state = 'sent' and kind::text = '${HOW_TO_SIGN_IN}')::int as "toldSent",
            count(*) filter (where state = 'failed' and kind::text = '${HOW_TO_SIGN_IN}')::int as "toldFailed"
     from settled where import_id is not null and state <> 'pending' group by import_id`,
    [
      outcomes.map((o) => o.id),
      outcomes.map((o) => o.attempt),
      outcomes.map((o) => o.state),
      outcomes.map((o) => o.error),
      outcomes.map((o) => o.delayMs),
    ],
  );
  return rows;
}

async function countOnImports(db: Db, counts: ImportCount[]): Promise<void> {
  await db.query(
    `update imports i set mails_sent = i.mails_sent + c.sent, mails_failed = i.mails_failed + c.failed
     from unnest($1::bigint[], $2::int[], $3::int[]) as c (id, sent, failed) where i.id = c.id`,
    [counts.map((c) => c.import_id), counts.map((c) => c.sent), counts.map((c) => c.failed)],
  );
  for (const { import_id, toldSent, toldFailed } of counts) {
    if (toldSent + toldFailed === 0) continue;
    const text = 'update import_sign_in_mails set sent = sent + $2, failed = failed + $3 where import_id = $1';
    await db.query(text, [import_id, toldSent, toldFailed]);
  }
}
