/** The order of mails: those outside imports first, then imports in turn; no held ones, and no more than the rate. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { claimDue, type MailPointer } from '../../../src/messages/mail/outbox.ts';
import { type MailQueue, relayOnce } from '../../../src/messages/mail/relay.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addImport, addMail, addOrg, addPerson } from './rows.ts';

const HOUR = 3_600_000;
const SETTINGS = { handOverMs: 60_000 };

describe('claiming mails', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'claim' });
    await addOrg(db.pool);
    await addPerson(db.pool, { id: 'u1' });
  });
  beforeEach(() => db.pool.query('delete from mail_outbox; delete from codes; delete from imports'));
  after(() => db.drop());

  /** Adds an import with mails; returns its id. */
  async function importOf(count: number, columns: Record<string, string> = {}): Promise<string> {
    const importId = await addImport(db.pool, count);
    for (const [name, value] of Object.entries(columns)) {
      await db.pool.query(`update imports set ${name} = $2 where id = $1`, [importId, value]);
    }
    for (let i = 0; i < count; i++) await addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId });
    return importId;
  }
  /** How many mails of each import were claimed; '' for mails outside imports. */
  async function claimed(limit: number, perImportRate = 0): Promise<Record<string, number>> {
    const mails = await claimDue(db.pool, limit, { ...SETTINGS, perImportRate });
    const { rows } = await db.pool.query<{ id: string; n: number }>(
      `select coalesce(import_id::text, '') as id, count(*)::int as n from mail_outbox
       where id = any($1::bigint[]) group by import_id order by id`,
      [mails.map((m) => m.pointer.id)],
    );
    return Object.fromEntries(rows.map((row) => [row.id, row.n]));
  }

  it('claims mails outside imports first, even if many mails of imports are older', async () => {
    const importId = await importOf(10);
    await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    const mails = await claimDue(db.pool, 3, SETTINGS);
    assert.deepEqual(
      mails.map((m) => m.isAlone),
      [true, false, false],
    );
    assert.deepEqual(await claimed(100), { [importId]: 8 });
    assert.deepEqual(await claimed(100), {}, 'everything is claimed');
  });

  it('serves imports in turn, a large one and a small one', async () => {
    const large = await importOf(30);
    const small = await importOf(3);
    assert.deepEqual(await claimed(10), { [large]: 5, [small]: 3 });
    assert.deepEqual(await claimed(10), { [large]: 10 });
  });

  it('claims no more than the limit, from any number of imports', async () => {
    for (let i = 0; i < 8; i++) await importOf(2);
    const turns = await claimed(3);
    assert.equal(
      Object.values(turns).reduce((a, b) => a + b, 0),
      3,
    );
  });

  it('skips an import whose mails are held', async () => {
    await importOf(2, { mails: 'held' });
    const other = await importOf(2);
    assert.deepEqual(await claimed(10), { [other]: 2 });
  });

  it('claims mails of one import at its rate, with a burst of one mail and a tenth of a second’s worth', async () => {
    const one = await importOf(40);
    const two = await importOf(2);
    const freeIn = (interval: string) =>
      db.pool.query('update import_dispatch set mails_free_at = now() + $1::interval', [interval]);
    assert.deepEqual(await claimed(100, 50), { [one]: 6, [two]: 2 });
    await freeIn('1 hour');
    assert.deepEqual(await claimed(100, 50), {});
    const since = performance.now();
    await freeIn('60 milliseconds');
    const { [one]: more = 0 } = await claimed(100, 50);
    const most = mostOf(50, since) - 3;
    assert.ok(more >= 3 && more <= most, `${more} mails, of 3 to ${most}`);
    await freeIn('-1 hour');
    assert.deepEqual(await claimed(100, 50), { [one]: 6 }, 'unused time is not saved up');
    await freeIn('-1 hour');
    assert.deepEqual(await claimed(100, 1), { [one]: 1 }, 'a small rate allows one mail');
  });

  it('claims mails of an import that was removed meanwhile, with and without a rate', async () => {
    for (const rate of [0, 50]) {
      const gone = await importOf(3);
      await db.pool.query('delete from imports where id = $1', [gone]);
      assert.deepEqual(await claimed(100, rate), { [gone]: 3 });
    }
  });

  it('keeps the rate with parallel relays', async () => {
    const one = await importOf(40);
    const since = performance.now();
    const rounds = await Promise.all(Array.from({ length: 6 }, () => claimed(100, 50)));
    const sum = rounds.reduce((total, round) => total + (round[one] ?? 0), 0);
    assert.ok(sum >= 6 && sum <= mostOf(50, since), `${sum} mails, of 6 to ${mostOf(50, since)}`);
  });
  const mostOf = (rate: number, since: number) => Math.floor(1.001 + rate * (0.1 + (performance.now() - since) / 1000));
});

describe('held mails', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'released' });
    await addOrg(db.pool);
  });
  after(() => db.drop());

  it('get a new code lifetime on release; mails to deactivated or locked users are dropped', async () => {
    for (const [id, state] of [
      ['good', 'active'],
      ['off', 'inactive'],
      ['shut', 'locked'],
    ] as const) {
      await addPerson(db.pool, { id, state });
    }
    const importId = await addImport(db.pool, 3);
    for (const userId of ['good', 'off', 'shut']) {
      await addMail(db.pool, { kind: 'verify_email', userId, importId });
    }
    await db.pool.query(`update codes set expires_at = now() - interval '1 day'`);
    await db.pool.query(`update imports set mails = 'held' where id = $1`, [importId]);
    const jobs: MailPointer[] = [];
    const queue: MailQueue = {
      depth: async () => 0,
      add: async (added) => void jobs.push(...added.map((job) => job.data)),
    };
    const relay = () => relayOnce({ pool: db.pool, queue }, { window: 10, codeTtlMs: HOUR });
    assert.equal(await relay(), 0);
    await db.pool.query(`update imports set mails = 'released' where id = $1`, [importId]);
    assert.equal(await relay(), 3);
    const { rows } = await db.pool.query(
      `select m.id, m.user_id, c.expires_at > now() + interval '59 minutes' as fresh
       from mail_outbox m join codes c on c.id = m.code_id`,
    );
    assert.deepEqual(
      rows.map((r) => [r.user_id, r.fresh]),
      [['good', true]],
    );
    assert.ok(jobs.some((job) => job.id === rows[0].id));
    const end = async () => (await db.pool.query('select expires_at from codes order by id')).rows[0].expires_at;
    const first = await end();
    await db.pool.query('update mail_outbox set next_attempt_at = now()');
    assert.equal(await relay(), 1, 'handed over again, as nobody has recorded its delivery');
    assert.deepEqual(await end(), first, 'the same mail names the same end of its link');
    const { rows: imports } = await db.pool.query('select mails_due from imports where id = $1', [importId]);
    assert.equal(imports[0].mails_due, 1);
  });
});
