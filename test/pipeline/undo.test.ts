/** `_undo` by the workers: also while mails go out, and while the same users are imported again. */
import assert from 'node:assert/strict';
import { bulk, OLD_PASSWORD, people, unverified } from '../support/imports/bodies.ts';
import { beginHeld } from '../support/imports/hold.ts';
import { assertEachOnce, assertSums, usersOf } from '../support/imports/outcome.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

onEachBackend('an undo', async (t, backend) => {
  const service = await startService(t, { backend, workers: 2 });
  const org = await service.newOrg();
  const act = (id: string, action: string) => service.call('POST', `/admin/v1/imports/${id}/${action}`, {});
  const result = async (id: string) => (await must(service.call('GET', `/admin/v1/imports/${id}`))).body;
  async function undone(id: string) {
    const { status, body } = await act(id, '_undo');
    assert.equal(status, 200);
    assert.match(body.state, /^IMPORT_STATE_UND(?:OING|ONE)$/);
    assertSums(body);
    await waitFor(async () => (await result(id)).state === 'IMPORT_STATE_UNDONE', {
      what: 'the undo',
    });
    const after = await result(id);
    assertSums(after);
    return after;
  }

  await t.test('removes users who have not signed in, and keeps those who have', async () => {
    const { importId } = await service.imported(bulk(org.orgId, people('u', 800)));
    assert.equal((await service.login({ userId: 'id-u700' }, OLD_PASSWORD)).status, 201);
    const { counts } = await undone(importId);
    assert.deepEqual([counts.undone, counts.succeeded], [799, 1]);
    assert.equal(await usersOf(service.pool, importId), 1);
    const { items } = (await service.call('GET', `/admin/v1/imports/${importId}/items?state=ITEM_STATE_SUCCEEDED`))
      .body;
    assert.deepEqual([items.length, items[0].userId, items[0].kept], [1, 'id-u700', 'SIGNED_IN']);
    assert.equal((await service.login({ userId: 'id-u1' }, OLD_PASSWORD)).status, 400);
  });

  await t.test('frees ids and names: the same users can be imported again', async () => {
    const { importId } = await service.imported(bulk(org.orgId, people('u', 650)));
    await assertEachOnce(service, importId, { users: 650 });
  });

  await t.test('works while mails are being sent, and the mails add up', async () => {
    service.smtp.mails.length = 0;
    const users = 600;
    const release = service.smtp.holdAfter(100);
    const { importId } = await service.imported(bulk(org.orgId, unverified('m', users)));
    await waitFor(() => service.smtp.held > 0, { what: 'mails in progress' });
    const { counts } = await undone(importId);
    release();
    assert.equal(counts.undone, users);
    await waitFor(async () => (await service.depth('mails')) === 0, {
      what: 'the mails to be settled',
    });
    const { mails } = await result(importId);
    assert.deepEqual([mails.pending, mails.failed], [0, 0]);
    assert.ok(mails.sent <= service.smtp.mails.length, `${mails.sent} of ${service.smtp.mails.length}`);
    const { rows } = await service.pool.query('select from mail_outbox where import_id = $1', [importId]);
    assert.equal(rows.length, 0);
  });

  await t.test('is refused for an import that runs, but not for one that was stopped', async () => {
    const users = 1200;
    const { importId, gates } = await beginHeld(service, bulk(org.orgId, people('s', users)), [1000]);
    const [early, paused] = [await act(importId, '_undo'), await act(importId, '_pause')];
    assert.equal(early.body.code, 9);
    assert.equal(paused.body.state, 'IMPORT_STATE_PAUSED');
    for (const gate of gates) await gate.commit();
    const { counts } = await undone(importId);
    assert.equal(await usersOf(service.pool, importId), 0);
    assert.equal(counts.undone + counts.cancelled, users);
    assert.equal((await act(importId, '_undo')).body.state, 'IMPORT_STATE_UNDONE');
  });
});
