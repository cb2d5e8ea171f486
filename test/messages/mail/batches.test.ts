import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { QueryConfig } from 'pg';
import { openBatchCommitter, openBatchLoader } from '../../../src/messages/mail/deliver.ts';
import type { Db } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { addMail, addOrg, addPerson } from './rows.ts';

describe('the batch loader', () => {
  let db: TestDatabase;

  before(async () => {
    db = await testDatabase({ name: 'mail_batches' });
    await addOrg(db.pool);
  });
  after(() => db.drop());

  it('loads mails that are asked for together in one statement, and those asked for meanwhile in the next', async () => {
    await addPerson(db.pool, { id: 'u1' });
    await addPerson(db.pool, { id: 'u2' });
    const one = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    const two = await addMail(db.pool, { kind: 'verify_email', userId: 'u2' });
    const asked: string[][] = [];
    let isAway = false;
    const query = (statement: QueryConfig<[string[]]>) => {
      asked.push(statement.values?.[0] ?? []);
      return isAway ? Promise.reject(new Error('away')) : db.pool.query(statement);
    };
    const { load } = openBatchLoader({ query } as unknown as Db);
    const first = [load(one.outboxId), load('0'), load(two.outboxId)];
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const later = [load(two.outboxId), load(one.outboxId)];
    const users = (await Promise.all([...first, ...later])).map((mail) => mail?.user_id);
    assert.deepEqual(users, ['u1', undefined, 'u2', 'u2', 'u1']);
    assert.deepEqual(asked, [
      [one.outboxId, '0', two.outboxId],
      [two.outboxId, one.outboxId],
    ]);
    isAway = true;
    const failed = await Promise.allSettled([load(one.outboxId), load(two.outboxId)]);
    assert.ok(failed.every((end) => end.status === 'rejected' && end.reason.message === 'away'));
    isAway = false;
    assert.equal((await load(one.outboxId))?.user_id, 'u1');
  });
});

describe('the batch committer', () => {
  const outcome = { id: '1', attempt: 0, importId: null, state: 'sent' as const, error: null, delayMs: 0 };

  it('settles outcomes that arrive together in one commit', async () => {
    const groups: number[] = [];
    const settler = openBatchCommitter(async (group) => void groups.push(group.length));
    await Promise.all([1, 2, 3].map((id) => settler.settle({ ...outcome, id: `${id}` })));
    assert.deepEqual(groups, [3]);
  });

  it('retries a refused commit, and throws when it is refused permanently', async () => {
    let refusals = 2;
    const write = async () => {
      if (refusals-- > 0) throw new Error('deadlock');
    };
    const settler = openBatchCommitter(write, { retryDelaysMs: [0, 0] });
    await settler.settle(outcome);
    refusals = 3;
    await assert.rejects(settler.settle(outcome), /deadlock/);
    await settler.settle(outcome);
  });
});
