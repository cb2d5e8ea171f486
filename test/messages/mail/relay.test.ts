import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { claimDue, type MailPointer } from '../../../src/messages/mail/outbox.ts';
import { type MailQueue, relayOnce } from '../../../src/messages/mail/relay.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addMail, addOrg, addPerson, outboxRow } from './rows.ts';

const HOUR = 3_600_000;

/** A queue that keeps all jobs; `drain` empties it. */
function fakeQueue(options: { fails?: boolean } = {}) {
  const jobs = new Map<string, MailPointer>();
  const queue: MailQueue = {
    depth: async () => jobs.size,
    async add(added) {
      if (options.fails) throw new Error('the queue is away');
      for (const { id, data } of added) jobs.set(id, data);
    },
  };
  return { queue, jobs, options };
}

describe('the relay', () => {
  let db: TestDatabase;

  before(async () => {
    db = await testDatabase({ name: 'relay' });
    await addOrg(db.pool);
    await addPerson(db.pool, { id: 'u1' });
  });
  beforeEach(() => db.pool.query('delete from mail_outbox'));
  after(() => db.drop());

  async function addMails(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      ids.push((await addMail(db.pool, { kind: 'verify_email', userId: 'u1' })).outboxId);
    }
    return ids;
  }

  it('hands over each due mail once, oldest first, and no more than the window allows', async () => {
    const ids = await addMails(5);
    const { queue, jobs } = fakeQueue();
    assert.equal(await relayOnce({ pool: db.pool, queue }, { window: 3, codeTtlMs: HOUR }), 3);
    assert.deepEqual([...jobs.values()].map((j) => j.id).sort(), ids.slice(0, 3).sort());
    assert.equal(await relayOnce({ pool: db.pool, queue }, { window: 3, codeTtlMs: HOUR }), 0, 'the queue is full');
    jobs.clear();
    assert.equal(await relayOnce({ pool: db.pool, queue }, { window: 3, codeTtlMs: HOUR }), 2);
    assert.deepEqual(
      [...jobs.keys()].sort(),
      ids
        .slice(3)
        .map((id) => `mail-${id}-0`)
        .sort(),
    );
    jobs.clear();
    assert.equal(
      await relayOnce({ pool: db.pool, queue }, { window: 3, codeTtlMs: HOUR }),
      0,
      'nothing is due any more',
    );
  });

  it('gives two parallel relays different mails, and neither waits', { timeout: 10_000 }, async () => {
    const ids = await addMails(20);
    const handed = await transaction(db.pool, async (held) => {
      const claimed = await claimDue(held, 10, { handOverMs: 60_000 });
      const { queue, jobs } = fakeQueue();
      assert.equal(await relayOnce({ pool: db.pool, queue }, { window: 10, codeTtlMs: HOUR }), 10);
      return [...claimed.map((c) => c.pointer), ...jobs.values()].map((j) => j.id);
    });
    assert.deepEqual(handed.sort(), ids.sort());
  });

  it('hands a mail over again when the queue has lost it', async () => {
    const [id] = (await addMails(1)) as [string];
    const { queue, jobs } = fakeQueue();
    const settings = { window: 10, handOverMs: 60_000, codeTtlMs: HOUR };
    await relayOnce({ pool: db.pool, queue }, settings);
    assert.ok((await outboxRow(db.pool, id)).due_in > 50);
    jobs.clear();
    assert.equal(await relayOnce({ pool: db.pool, queue }, settings), 0);
    await db.pool.query(`update mail_outbox set next_attempt_at = next_attempt_at - interval '60 seconds'`);
    assert.equal(await relayOnce({ pool: db.pool, queue }, settings), 1);
    const [job] = jobs;
    const { until, ...data } = job?.[1] ?? assert.fail();
    assert.deepEqual([job?.[0], data], [`mail-${id}-0`, { id, attempt: 0 }]);
    const now = await db.pool.query('select next_attempt_at = $1::timestamptz as same from mail_outbox', [until]);
    assert.equal(now.rows[0].same, true);
  });

  it('leaves mails due if the queue did not accept them', async () => {
    await addMails(2);
    const { queue, jobs, options } = fakeQueue({ fails: true });
    await assert.rejects(relayOnce({ pool: db.pool, queue }, { window: 10, codeTtlMs: HOUR }), /away/);
    options.fails = false;
    assert.equal(await relayOnce({ pool: db.pool, queue }, { window: 10, codeTtlMs: HOUR }), 2);
    assert.equal(jobs.size, 2);
  });
});
