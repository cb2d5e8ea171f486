/** One look for all loops of a worker. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import type { Db } from '../../src/platform/db/pool.ts';
import { openWorkPoller, type WaitLimits, type Work, type WorkPoller } from '../../workers/loop.ts';
import { addImport, addMail, addOrg, addPerson } from '../messages/mail/rows.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const KINDS: Work[] = ['dispatch', 'rescue', 'undo', 'mail', 'convert', 'webhook'];

describe('the look for work', () => {
  let db: TestDatabase;
  let importId: string;
  let looks: number;
  let isAway: boolean;
  let counted: Db;

  before(async () => {
    db = await testDatabase({ name: 'look' });
    await addOrg(db.pool);
    await addPerson(db.pool, { id: 'u1' });
    importId = await addImport(db.pool, 0);
    const query = (statement: string) => {
      looks++;
      return isAway ? Promise.reject(new Error('away')) : db.pool.query(statement);
    };
    counted = { query } as Db;
  });
  beforeEach(() => {
    looks = 0;
    isAway = false;
  });
  after(() => db.drop());

  /** Waits for all kinds of work until the test ends; returns those that were found. */
  function waitForAll(t: TestContext, poller: WorkPoller, limits?: WaitLimits): Work[] {
    const found: Work[] = [];
    for (const kind of KINDS) {
      const pause = poller.until(kind, limits);
      assert.ok(typeof pause === 'function');
      t.after(pause(() => found.push(kind)));
    }
    return found;
  }
  async function looksOf(count: number): Promise<void> {
    await waitFor(async () => looks >= count, { what: `${count} looks` });
  }
  const setState = (state: string) => db.pool.query('update imports set state = $2 where id = $1', [importId, state]);

  const CASES: Array<{ what: string; plant(): Promise<unknown>; remove(): Promise<unknown>; found: Work[] }> = [
    {
      what: 'a running import',
      plant: () => setState('running'),
      remove: () => setState('succeeded'),
      found: ['dispatch', 'rescue'],
    },
    {
      what: 'an upload',
      plant: () => setState('receiving'),
      remove: () => setState('succeeded'),
      found: ['rescue'],
    },
    {
      what: 'an undo',
      plant: () => setState('undoing'),
      remove: () => setState('succeeded'),
      found: ['undo'],
    },
    {
      what: 'a mail',
      plant: () => addMail(db.pool, { kind: 'verify_email', userId: 'u1' }),
      remove: () => db.pool.query('delete from mail_outbox'),
      found: ['mail'],
    },
    {
      what: 'a mail of an import',
      plant: () => addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId }),
      remove: () => db.pool.query('delete from mail_outbox'),
      found: ['mail'],
    },
    {
      what: 'a draft to convert',
      plant: () =>
        db.pool.query(
          `insert into import_preparations (import_id, expires_at, requested_at) values ($1, now() + interval '1 day', now())`,
          [importId],
        ),
      remove: () => db.pool.query('delete from import_preparations'),
      found: ['convert'],
    },
    {
      what: 'a webhook',
      plant: () =>
        db.pool.query(
          `insert into webhook_deliveries (import_id, org_id, url) values ($1, 'org-1', 'https://example.com')`,
          [importId],
        ),
      remove: () => db.pool.query('delete from webhook_deliveries'),
      found: ['webhook'],
    },
  ];

  for (const { what, plant, remove, found } of CASES) {
    it(`wakes those who wait for ${what}, and nobody else`, async (t) => {
      const woken = waitForAll(t, openWorkPoller(counted));
      await looksOf(1);
      assert.deepEqual(woken, []);
      await plant();
      t.after(remove);
      await looksOf(looks + 3);
      assert.deepEqual([...new Set(woken)].sort(), found.sort());
    });
  }

  it('sees no work in mails and webhooks that are to be tried again later', async (t) => {
    await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    t.after(() => db.pool.query('delete from mail_outbox'));
    await db.pool.query(`update mail_outbox set next_attempt_at = now() + interval '1 hour'`);
    const woken = waitForAll(t, openWorkPoller(counted));
    await looksOf(2);
    assert.deepEqual(woken, []);
  });

  it('asks once for all loops, and no more when none waits', async () => {
    let asked = 0;
    let answer = () => {};
    const held = new Promise<{ rows: never[] }>((resolve) => {
      answer = () => resolve({ rows: [] });
    });
    const query = () => {
      asked++;
      return held;
    };
    const poller = openWorkPoller({ query } as unknown as Db);
    const cancels = [...KINDS, ...KINDS].map((kind) => {
      const pause = poller.until(kind);
      assert.ok(typeof pause === 'function');
      return pause(() => {});
    });
    await waitFor(async () => asked === 1, { what: 'a look' });
    for (const cancel of cancels) cancel();
    answer();
    const other = openWorkPoller(counted).until('undo');
    assert.ok(typeof other === 'function');
    const cancel = other(() => {});
    await looksOf(3); // meanwhile the first would have looked again
    cancel();
    assert.equal(asked, 1);
  });

  it('wakes nobody by a look before it is due, and everybody when the time is over', async (t) => {
    await setState('undoing');
    t.after(() => setState('succeeded'));
    const poller = openWorkPoller(counted);
    const late = waitForAll(t, poller, { afterMs: 3_600_000 });
    const limited = waitForAll(t, poller, { afterMs: 3_600_000, withinMs: 1 });
    const now = waitForAll(t, poller);
    await looksOf(2);
    await waitFor(async () => limited.length === KINDS.length && now.length > 0, { what: 'the limit' });
    assert.deepEqual(late, []);
    assert.deepEqual([...new Set(now)], ['undo']);
  });

  it('wakes everybody when the database does not answer, so that each says so', async (t) => {
    isAway = true;
    const woken = waitForAll(t, openWorkPoller(counted));
    await waitFor(async () => woken.length >= KINDS.length, { what: 'all to wake up' });
    assert.deepEqual(woken.slice(0, KINDS.length), KINDS);
  });
});
