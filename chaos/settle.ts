/**
 * Waits until nothing of a round runs any more: imports, mails and webhooks.
 *
 * Retries that wait for their time are made due at once, since a round lasts seconds: only those of which no process
 * can be in the middle, which is so when the queue of mails has been empty for a while.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../src/platform/db/pool.ts';
import type { Stand } from './stand/stand.ts';

const PEACE_MS = 150_000;
const POLL_MS = 200;
/** Longer than a mail takes, from its claim to its record. */
const QUIET_MS = 2500;

const OPEN = `
  select 'import ' || id || ' is ' || state as what from imports where id = any($1) and state in ('running', 'undoing')
  union all
  select 'mail ' || m.id || ' of import ' || i.id from mail_outbox m join imports i on i.id = m.import_id
  where i.id = any($1) and m.state = 'pending' and i.mails <> 'held'
  union all
  select 'webhook ' || id || ' of import ' || import_id from webhook_deliveries
  where import_id = any($1) and state = 'pending'`;

/** The single imports of organizations: their callers learn no id. */
export async function singlesOf(db: Db, orgIds: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select i.id from imports i join import_orgs o on o.import_id = i.id where i.kind = 'single' and o.org_id = any($1)`,
    [orgIds],
  );
  return rows.map(({ id }) => id);
}

/** @returns what is still open after `peaceMs` milliseconds */
export async function untilSettled(
  stand: Pick<Stand, 'pool' | 'queues'>,
  importIds: string[],
  peaceMs = PEACE_MS,
): Promise<string[]> {
  const end = performance.now() + peaceMs;
  let busyAt = performance.now();
  for (;;) {
    const { rows } = await stand.pool.query<{ what: string }>(OPEN, [importIds]);
    if (rows.length === 0) return [];
    const now = performance.now();
    if (now > end) return rows.map(({ what }) => what);
    if ((await stand.queues.depth('mails')) > 0) busyAt = now;
    if (now - busyAt > QUIET_MS) {
      await makeDue(stand);
      busyAt = performance.now();
    }
    await sleep(POLL_MS);
  }
}

async function makeDue({ pool }: Pick<Stand, 'pool'>): Promise<void> {
  for (const table of ['mail_outbox', 'webhook_deliveries']) {
    await pool.query(`update ${table} set next_attempt_at = now() where state = 'pending' and next_attempt_at > now()`);
  }
}
