/** Requests that are sent again with their Idempotency-Key: one import, one user, the same answer. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { type Answer, errorId } from '../support/answers.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { lines, NDJSON, ofOrg } from '../support/imports/ndjson.ts';
import { assertEachOnce, rowCounts } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { must, onOneBackend, type Service, type ServiceCall, startService } from '../support/processes/service.ts';
import { hold, waiters } from '../support/stores/locks.ts';

const SINGLE = '/management/v1/users/human/_import';
const key = (value: string) => ({ 'idempotency-key': value });

onOneBackend('a bulk import with a key', async (t, backend) => {
  const service = await startService(t, { backend });
  const [org, other] = [await service.newOrg(), await service.newOrg()];
  const send = (body: unknown, value: string, options: ServiceCall & { query?: string } = {}) =>
    service.importBody(body, { ...options, headers: { ...key(value), ...options.headers } });

  await t.test('is answered with the same import when it comes again, while it runs and afterwards', async () => {
    const body = bulk(org.orgId, people('again', 50));
    const first = await send(body, 'again');
    const second = await send(body, 'again');
    assert.deepEqual([first.status, second.status], [202, 202]);
    assert.equal(second.body.importId, first.body.importId);
    assert.equal(second.headers.get('location'), first.headers.get('location'));
    assert.deepEqual([second.body.deadline, second.body.counts.total], [first.body.deadline, 50]);
    const result = await service.waitForEnd(first.body.importId);
    const third = await send(body, 'again', { headers: { prefer: 'wait=10' } });
    assert.deepEqual([third.status, third.body], [200, result]);
    await assertEachOnce(service, result.importId, { users: 50 });
  });

  await t.test('is the same whether or not it is compressed, and on every API process', async () => {
    const text = JSON.stringify(bulk(org.orgId, people('zip', 20)));
    const first = await must(send(text, 'zip'));
    await service.startApi();
    const second = await send(gzipSync(text), 'zip', { headers: { 'content-encoding': 'gzip' } });
    assert.deepEqual([second.status, second.body.importId], [202, first.body.importId]);
    await service.waitForEnd(first.body.importId);
  });

  await t.test('is refused with another body, another query or another format, and leaves nothing', async () => {
    const one = bulk(org.orgId, people('one', 3));
    await service.waitForEnd((await must(send(one, 'one'))).body.importId);
    const before = await rowCounts(service.pool);
    const others: [unknown, (ServiceCall & { query?: string })?][] = [
      [bulk(org.orgId, people('two', 3))],
      [`${JSON.stringify(one)} `],
      [one, { query: '?strict=true' }],
      [''],
      ['{'],
      [lines(ofOrg(org.orgId, people('one', 3))), { query: '?timeout=5m', headers: NDJSON }],
    ];
    for (const [body, options] of others) {
      const answer = await send(body, 'one', options);
      assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [409, 6, 'IMPORT-KEY-REUSED']);
    }
    assert.deepEqual(await rowCounts(service.pool), before);
  });

  await t.test('does not share its key with other callers', async () => {
    const body = bulk(org.orgId, people('own', 3));
    const mine = await must(send(body, 'own'));
    await service.waitForEnd(mine.body.importId);
    const theirs = await send(body, 'own', { token: org.ownerToken });
    assert.equal(theirs.status, 202);
    assert.notEqual(theirs.body.importId, mine.body.importId);
    assert.equal((await send(body, 'own', { token: other.ownerToken })).status, 403);
  });

  await t.test('leaves no record when it is refused, so that the corrected body can use the same key', async () => {
    const users = people('mend', 5);
    for (const bad of ['{', { ...bulk(org.orgId, users), timeout: 'soon' }, bulk('nowhere', users)]) {
      assert.ok((await send(bad, 'mend')).status >= 400);
    }
    assert.equal((await send(bulk(org.orgId, users), 'mend')).status, 202);
  });

  await t.test('requires a printable key that is not too long', async () => {
    for (const bad of ['', 'x'.repeat(256), 'caf\u00e9']) {
      const answer = await send(bulk(org.orgId, people('bad', 1)), bad);
      assert.deepEqual([answer.status, errorId(answer)], [400, 'IMPORT-KEY'], JSON.stringify(bad));
    }
    assert.equal((await send(bulk(org.orgId, people('long', 1)), 'x'.repeat(255))).status, 202);
  });

  await t.test('is a single import for many equal requests at once', async () => {
    const text = JSON.stringify(bulk(org.orgId, people('crowd', 400)));
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(text, 'crowd')));
    assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([202]));
    const [importId, ...more] = new Set(answers.map((a) => a.body.importId));
    assert.deepEqual(more, []);
    await service.waitForEnd(importId);
    await assertEachOnce(service, importId, { users: 400 });
    const { rows } = await service.pool.query(`select count(*)::int as n from imports where state = 'receiving'`);
    assert.equal(rows[0].n, 0);
  });

  await t.test('does not wait for a first request that was interrupted or stalls', async () => {
    const text = JSON.stringify(bulk(org.orgId, people('cut', 1000)));
    const [head, tail] = [text.slice(0, 200_000), text.slice(200_000)];
    const cut = startUpload(service, key('cut'));
    await cut.write(head);
    const frozen = startUpload(service, key('cut'));
    await frozen.write(head);
    cut.cut();
    const { status, body } = await send(text, 'cut');
    assert.equal(status, 202);
    const late = await frozen.end(tail);
    assert.deepEqual([late.status, JSON.parse(late.text).importId], [202, body.importId]);
    await service.waitForEnd(body.importId);
    await assertEachOnce(service, body.importId, { users: 1000 });
  });

  await t.test('finds its import after the answer was lost', async () => {
    const text = JSON.stringify(bulk(org.orgId, people('lost', 100)));
    const before = await rowCounts(service.pool);
    const lost = startUpload(service, key('lost'));
    const release = await holdDispatch(service);
    void lost.end(text).catch(() => {}); // no one reads the answer
    await release.whenWaiting;
    lost.cut();
    await release.now();
    const { body } = await must(send(text, 'lost'));
    await service.waitForEnd(body.importId);
    assert.equal((await rowCounts(service.pool)).imports, (before.imports ?? 0) + 1);
    await assertEachOnce(service, body.importId, { users: 100 });
  });

  await t.test('is a new import after 24 hours', async () => {
    const body = bulk(org.orgId, people('old', 3));
    const first = await must(send(body, 'old'));
    await service.waitForEnd(first.body.importId);
    await service.pool.query(
      `update idempotency_keys set created_at = now() - interval '25 hours' where import_id = $1`,
      [first.body.importId],
    );
    const second = await must(send(body, 'old'));
    assert.notEqual(second.body.importId, first.body.importId);
    assert.equal((await service.waitForEnd(second.body.importId)).counts.failed, 3);
  });

  await t.test('reveals nothing to a caller who has since lost the role', async () => {
    const owner = await service.machine(org.orgId, ['ORG_OWNER']);
    await must(
      service.call(
        'POST',
        '/management/v1/orgs/me/members',
        { userId: owner.userId, roles: ['ORG_OWNER'] },
        { orgId: other.orgId },
      ),
    );
    const body = bulk(org.orgId, people('role', 2));
    await must(send(body, 'role', { token: owner.token }));
    await must(
      service.call('DELETE', `/management/v1/orgs/me/members/${owner.userId}`, undefined, { orgId: org.orgId }),
    );
    assert.equal((await send(body, 'role', { token: owner.token })).status, 403);
  });

  await t.test('does not put the key into the log', async () => {
    const secret = 'a-key-that-nobody-logs';
    await must(send(bulk(org.orgId, people('log', 1)), secret));
    await send('{', secret);
    for (const { output } of service.processes) assert.ok(!output().includes(secret));
  });
});

onOneBackend('a single import with a key', async (t, backend) => {
  const service = await startService(t, { backend });
  const [org, other] = [await service.newOrg(), await service.newOrg()];
  const send = (user: unknown, value: string, options: ServiceCall = {}): Promise<Answer> =>
    service.call('POST', SINGLE, user, { orgId: org.orgId, headers: key(value), ...options });
  const named = async (userName: string) =>
    (await service.pool.query('select id from users where user_name = $1', [userName])).rows;

  await t.test('gets the same answer again, and creates no second user', async () => {
    const { user } = entry('ann', { shoe: 1 });
    const first = await send(user, 'ann');
    assert.equal(first.status, 200, JSON.stringify(first.body));
    await must(service.call('POST', `/v2beta/users/${first.body.userId}/lock`, {}, { token: org.ownerToken }));
    for (let i = 0; i < 2; i++) assert.deepEqual((await send(user, 'ann')).body, first.body);
    assert.equal((await named('ann')).length, 1);
    // The answer stays the same, and the user is not created again.
    await must(service.call('DELETE', `/v2beta/users/${first.body.userId}`, undefined, { token: org.ownerToken }));
    assert.deepEqual((await send(user, 'ann')).body, first.body);
    assert.deepEqual(await named('ann'), []);
  });

  await t.test('is a single user for many equal requests at once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(entry('crowd').user, 'crowd')));
    assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([200]));
    assert.equal(new Set(answers.map((a) => JSON.stringify(a.body))).size, 1);
    assert.deepEqual(await named('crowd'), [{ id: answers[0]?.body.userId }]);
    const { rows } = await service.pool.query(
      `select count(*)::int as n from imports i join import_items t on t.import_id = i.id where t.user_name = 'crowd'`,
    );
    assert.equal(rows[0].n, 1);
  });

  await t.test('is refused with another body or for another organization', async () => {
    const { user } = entry('bob');
    await must(send(user, 'bob'));
    for (const answer of [
      await send({ ...user, userName: 'bobby' }, 'bob'),
      await send(user, 'bob', { orgId: other.orgId }),
      await send(JSON.stringify(user, null, 1), 'bob'),
    ]) {
      assert.deepEqual([answer.status, errorId(answer)], [409, 'IMPORT-KEY-REUSED']);
    }
    assert.equal((await send(user, 'bob', { orgId: other.orgId, token: other.ownerToken })).status, 200);
    assert.equal((await send(user, '')).status, 400);
  });

  await t.test('keeps no key for a request that wrote nothing', async () => {
    await must(send(entry('taken').user, 'first'));
    assert.equal((await send({ userName: 'x' }, 'mend')).status, 400);
    assert.equal((await send(entry('taken').user, 'mend')).status, 409);
    assert.equal((await send(entry('taken').user, 'mend')).status, 409);
    const { status, body } = await send(entry('mended').user, 'mend');
    assert.equal(status, 200);
    assert.equal((await send(entry('mended').user, 'mend')).body.userId, body.userId);
  });

  await t.test('makes a repeated request wait while the first is not written yet', async () => {
    const release = await holdDispatch(service);
    const first = send(entry('slow').user, 'slow');
    await release.whenWaiting;
    const second = send(entry('slow').user, 'slow');
    await release.now();
    const [a, b] = [await must(first), await must(second)];
    assert.deepEqual(b.body, a.body);
  });
});

/** Blocks every import in the transaction that accepts it. */
async function holdDispatch(service: Service) {
  const held = await hold(service.pool, 'lock table import_dispatch in exclusive mode');
  return { whenWaiting: waiters(service.pool, 1, 'muster-api'), now: held.commit };
}
