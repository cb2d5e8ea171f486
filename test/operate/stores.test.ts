/** The metrics of the stores, from planted rows. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openImports, outboxes, queueMeasures } from '../../src/operate/store-metrics.ts';
import { holdLease } from '../../src/platform/db/lease.ts';
import type { Measure } from '../../src/platform/http/metrics.ts';
import { addMail, addOrg, addPerson } from '../messages/mail/rows.ts';
import { acceptImport, addOrgs, entries, queueLog, setImport, wipe } from '../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';

describe('the metrics of the stores', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'store_metrics' });
    await addOrgs(db.pool, 'org');
    await addOrg(db.pool);
  });
  beforeEach(() => wipe(db.pool));
  after(() => db.drop());

  /** Reads a measure that was opened just now. */
  const read = (measures: Measure[], name: string) =>
    (measures.find((measure) => measure.name === name) as Measure).read() as Promise<never>;
  const ofImports = (name: string): Promise<number> => read(openImports(db.pool), `muster_import${name}`);
  const ago = (time: string) => `clock_timestamp() - interval '${time}'`;
  /** The test itself may take a while. */
  const about = (value: number, hours: number) =>
    assert.ok(value >= hours * 3600 && value < (hours + 1) * 3600, `${value} s, not about ${hours} h`);

  it('count open imports by state, and their pending users', async () => {
    const running = await acceptImport(db.pool, entries(3));
    await setImport(db.pool, running, { succeeded: '1' });
    const [paused, receiving, late, draft] = [1, 2, 3, 1].map((n) => acceptImport(db.pool, entries(n)));
    await setImport(db.pool, await (paused as Promise<string>), { state: `'paused'`, paused_at: 'now()' });
    await setImport(db.pool, await (receiving as Promise<string>), { state: `'receiving'` });
    await setImport(db.pool, await (draft as Promise<string>), { kind: `'draft'`, state: `'draft'` });
    await setImport(db.pool, await (late as Promise<string>), { deadline: ago('1 second') });
    assert.deepEqual(await ofImports('s_open'), { receiving: 1, running: 2, paused: 1, undoing: 0 });
    assert.equal(await ofImports('_items_pending'), 2, 'only imports that run and are in time have pending users');
  });

  it('tell how long the oldest import has been running, and the longest time without progress', async () => {
    assert.deepEqual([await ofImports('_oldest_pending_seconds'), await ofImports('_stalled_seconds')], [0, 0]);
    const [old, stuck, done] = await Promise.all([1, 1, 1].map((n) => acceptImport(db.pool, entries(n))));
    await setImport(db.pool, old as string, { accepted_at: ago('9 hours'), stood: `interval '2 hours'` });
    await setImport(db.pool, stuck as string, { changed_at: ago('4 hours') });
    await setImport(db.pool, done as string, { succeeded: 'total', accepted_at: ago('20 h'), changed_at: ago('20 h') });
    about(await ofImports('_oldest_pending_seconds'), 7);
    about(await ofImports('_stalled_seconds'), 4);
  });

  describe('of the outbox', () => {
    const age = (): Promise<number> => read(outboxes(db.pool), 'muster_mail_outbox_age_seconds');
    const pending = (): Promise<number> => read(outboxes(db.pool), 'muster_mails_pending');
    let serial = 0;
    async function mail(created: string, columns: Record<string, string> = {}, importId?: string): Promise<void> {
      const userId = `u${++serial}`;
      await addPerson(db.pool, { id: userId });
      const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId, ...(importId ? { importId } : {}) });
      const all = { created_at: ago(created), next_attempt_at: ago(created), ...columns };
      const list = Object.entries(all).map(([name, sql]) => `${name} = ${sql}`);
      await db.pool.query(`update mail_outbox set ${list.join(', ')} where id = $1`, [outboxId]);
    }

    it('is 0 without mails, and the age of the next mail with some', async () => {
      assert.deepEqual([await age(), await pending()], [0, 0]);
      await mail('3 hours');
      await mail('9 hours', { state: `'sent'`, settled_at: 'now()' });
      about(await age(), 3);
      assert.equal(await pending(), 1);
    });

    it('does not take one refused address for all mails, but many of them', async () => {
      await mail('3 hours', { attempts: '4', next_attempt_at: `now() + interval '1 hour'` });
      await mail('2 seconds');
      about(await age(), 0);
      await db.pool.query(`update mail_outbox set next_attempt_at = now() + interval '2 hours' where attempts = 0`);
      about(await age(), 3);
    });

    it('takes the import whose next mail is the oldest, without held mails', async () => {
      const [first, second, held, released] = await Promise.all(
        [1, 2, 3, 4].map(() => acceptImport(db.pool, entries(1))),
      );
      await setImport(db.pool, held as string, { mails: `'held'` });
      await setImport(db.pool, released as string, { mails: `'released'`, changed_at: ago('1 minute') });
      await mail('40 hours', {}, held);
      await mail('40 hours', {}, released);
      about(await age(), 0);
      await mail('20 hours', {}, first);
      await mail('10 hours', {}, second);
      about(await age(), 20);
      assert.equal(await pending(), 4);
    });
  });

  it('count webhook messages that wait', async () => {
    const id = await acceptImport(db.pool, entries(1));
    await db.pool.query(
      `insert into webhook_deliveries (import_id, org_id, url, state) select $1, 'org', 'https://a.example', s
       from unnest('{pending,pending,sent,failed}'::mail_state[]) s`,
      [id],
    );
    assert.equal(await read(outboxes(db.pool), 'muster_webhooks_pending'), 2);
  });

  it('tell jobs and workers by queue, and which duties are held', async () => {
    const measures = queueMeasures(db.pool, { ...queueLog(), depth: async () => 7, workers: async () => 2 });
    assert.deepEqual(await read(measures, 'muster_queue_jobs'), { imports: 7, hashes: 7, mails: 7 });
    assert.deepEqual(await read(measures, 'muster_workers'), { imports: 2, hashes: 2, mails: 2 });
    const held = () => read(measures, 'muster_leases_held');
    assert.deepEqual(await held(), { dispatcher: 0, undoer: 0 });
    await holdLease(db.pool, 'dispatcher', 'a', 60_000);
    await holdLease(db.pool, 'undoer', 'a', -1);
    assert.deepEqual(await held(), { dispatcher: 1, undoer: 0 }, 'an expired lease is not held');
  });
});
