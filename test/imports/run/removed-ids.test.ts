/** The id of a deleted user is free at once in its organization, and never in another one: `sub` keeps its person. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { undoRound } from '../../../src/imports/control/undo.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { errorId, startApi, type TestApi, unique } from '../../support/api.ts';
import { SETTINGS, special } from '../../support/imports/existing.ts';
import { acceptBody, entry, errorIdOf, itemRows, openWriterPool, writerWaits } from '../../support/imports/imports.ts';
import { hold } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';

describe('the id of a deleted user', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let own: string;
  let other: string;
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    [own, other] = [(await api.setupOrg()).orgId, (await api.setupOrg()).orgId];
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const machine = (orgId: string, userId: string) =>
    api.call('POST', '/management/v1/users/machine', { userId, userName: unique('m'), name: 'M' }, { orgId });
  const human = (orgId: string, userId: string) => {
    const profile = { givenName: 'Ann', familyName: 'Arbor' };
    const email = { email: `${unique('ann')}@example.com`, isVerified: true };
    return api.call('POST', '/v2beta/users/human', { userId, organization: { orgId }, profile, email });
  };
  const remove = (userId: string) => api.call('DELETE', `/v2beta/users/${userId}`);
  const removed = async (): Promise<string> => {
    const userId = unique('gone');
    await machine(own, userId);
    assert.equal((await remove(userId)).status, 200);
    return userId;
  };
  async function accept(orgId: string, ids: string[], options?: ReturnType<typeof special>): Promise<string> {
    const humanUsers = ids.map((userId) => ({ ...entry(unique('u')), userId }));
    const body = { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout: '1h' };
    return acceptBody(pool, body, options ? { special: options } : {});
  }
  const outcomes = async (importId: string) =>
    (await itemRows(pool, importId)).map((item) => errorIdOf(item) ?? item.state);

  it('is taken in another organization, for humans and machines, and free in its own, again and again', async () => {
    const userId = await removed();
    for (const create of [human, machine]) {
      const answer = await create(other, userId);
      assert.deepEqual([answer.status, errorId(answer)], [409, 'USER-ID-TAKEN']);
      assert.equal((await create(own, userId)).status, 200);
      assert.equal((await remove(userId)).status, 200);
    }
    assert.equal((await human(other, userId)).status, 409);
  });

  it('fails in an import into another organization, whatever becomes of existing users; the others are written', async () => {
    const stores = specialStores(writer, SETTINGS);
    for (const [store, options, created] of [
      [batchStore(writer, SETTINGS), undefined, 'succeeded'],
      [stores.skip, special('skip'), 'succeeded'],
      [stores.update, special('update'), 'succeeded'],
      // A dry run of somebody who is no IAM_OWNER does not tell: test/roles/ids-elsewhere.test.ts.
      [stores.dry, special('fail', true), 'succeeded'],
    ] as const) {
      const userId = await removed();
      const importId = await accept(other, [unique('one'), userId, unique('two')], options);
      assert.deepEqual(await store.write(importId, [0, 1, 2]), []);
      const taken = options?.dryRun ? created : 'USER-ID-TAKEN';
      assert.deepEqual(await outcomes(importId), [created, taken, created], options?.onExisting);
      const [, item] = await itemRows(pool, importId);
      if (!options?.dryRun) assert.match(item?.error?.message ?? '', /or existed in another organization\.$/);
      const again = await accept(own, [userId], options);
      await store.write(again, [0]);
      assert.deepEqual(await outcomes(again), [created], options?.onExisting);
    }
  });

  it('is kept after an undo too', async () => {
    const userId = unique('undone');
    const importId = await accept(own, [userId]);
    await batchStore(writer, SETTINGS).write(importId, [0]);
    assert.equal((await api.call('POST', `/admin/v1/imports/${importId}/_undo`, {})).status, 200);
    await undoRound(pool, 100);
    assert.equal((await api.call('GET', `/v2beta/users/${userId}`)).status, 404);
    assert.equal((await human(other, userId)).status, 409);
    assert.equal((await human(own, userId)).status, 200);
  });

  it('is taken for a batch that waits for the deletion', async () => {
    const userId = unique('going');
    await machine(own, userId);
    const importId = await accept(other, [userId]);
    const deletion = await hold(pool, 'delete from users where id = $1', [userId]);
    const batch = batchStore(writer, SETTINGS).write(importId, [0]);
    await waitFor(() => writerWaits(pool), { what: 'the batch to wait for the deletion' });
    await deletion.commit();
    await batch;
    assert.deepEqual(await outcomes(importId), ['USER-ID-TAKEN']);
  });
});
