/** Counts what an import left in the database and in the mailboxes. */
import assert from 'node:assert/strict';
import type { Pool } from '../../../src/platform/db/pool.ts';
import type { Answer } from '../answers.ts';
import { must, type Service } from '../processes/service.ts';
import { waitFor } from '../wait.ts';

/** How many users of an import exist now. */
export async function usersOf(pool: Pool, importId: string): Promise<number> {
  const { rows } = await pool.query('select count(*)::int as n from users where import_id = $1', [importId]);
  return rows[0].n;
}

/** The number of rows in every table that imports write to. */
export async function rowCounts(pool: Pool): Promise<Record<string, number>> {
  const tables = [
    'imports',
    'import_items',
    'import_orgs',
    'import_dispatch',
    'users',
    'events',
    'codes',
    'mail_outbox',
  ];
  const { rows } = await pool.query(
    `select ${tables.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(', ')}`,
  );
  return rows[0];
}

/** @throws AssertionError unless the counts of the result, in total and of each organization, sum to their total */
export function assertSums({ counts, orgs }: Answer['body']): void {
  for (const { total, ...states } of [counts, ...orgs.map((o: { counts: unknown }) => o.counts)]) {
    const sum = Object.values(states as Record<string, number>).reduce((a, b) => a + b, 0);
    assert.equal(sum, total, JSON.stringify({ total, ...states }));
  }
}

export interface Expected {
  users: number;
  /** How many of the users are due a mail. */
  mails?: number;
}

/**
 * Waits for the mails and asserts that every user of the import exists once, with one event and at most one mail, and
 * that items and counts agree.
 */
export async function assertEachOnce(service: Service, importId: string, expected: Expected): Promise<void> {
  const { users, mails = 0 } = expected;
  const { pool } = service;
  const { rows } = await pool.query(
    `select (select count(*)::int from users where import_id = $1) as users,
       (select count(*)::int from import_items where import_id = $1 and state = 'succeeded') as items,
       (select sum(succeeded)::int from import_orgs where import_id = $1) as of_orgs,
       count(*)::int as events, count(distinct aggregate_id)::int as users_with_event,
       (select count(*)::int from mail_outbox where import_id = $1) as mails,
       (select count(distinct user_id)::int from mail_outbox where import_id = $1) as users_with_mail
     from history where type = 'user.human.imported' and payload ->> 'importId' = $1::text`,
    [importId],
  );
  assert.deepEqual(rows[0], {
    users,
    items: users,
    of_orgs: users,
    events: users,
    users_with_event: users,
    mails,
    users_with_mail: mails,
  });
  const result = await mailsSettled(service, importId);
  assert.equal(result.counts.succeeded, users);
  assert.deepEqual(result.mails, { pending: 0, held: 0, sent: mails, failed: 0 });
  assertSums(result);
}

/** The result once no mail of the import is pending any more. */
export async function mailsSettled(service: Service, importId: string): Promise<Answer['body']> {
  await waitFor(
    async () => {
      const { rowCount } = await service.pool.query(
        'select from imports where id = $1 and mails_due = mails_sent + mails_failed',
        [importId],
      );
      return rowCount === 1;
    },
    { what: `the mails of import ${importId}`, timeoutMs: 180_000 },
  );
  return (await must(service.call('GET', `/admin/v1/imports/${importId}`))).body;
}

/** How many mails arrived for each address. */
export function mailsByAddress(service: Service): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { to } of service.smtp.mails)
    for (const address of to) counts.set(address, (counts.get(address) ?? 0) + 1);
  return counts;
}
