/** Uploads that do not complete: nothing of them is visible, and nothing remains. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { bulk, people } from '../support/imports/bodies.ts';
import { lines, NDJSON, ofOrg } from '../support/imports/ndjson.ts';
import { assertEachOnce, rowCounts } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { hold, waiters } from '../support/stores/locks.ts';
import { waitFor } from '../support/wait.ts';

const USERS = people('up', 1000, { metadata: [{ key: 'padding', value: 'A'.repeat(2000) }] });

onEachBackend('an upload', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend });
  const org = await service.newOrg();
  const text = JSON.stringify(bulk(org.orgId, USERS));
  const cuts = [600, 900].map((i) => text.indexOf(`"id-up${i}"`));
  const [head, middle, tail] = [text.slice(0, cuts[0]), text.slice(cuts[0], cuts[1]), text.slice(cuts[1])];
  const before = await rowCounts(service.pool);

  await t.test('that the client aborts leaves nothing', async () => {
    const upload = startUpload(service);
    await upload.write(head);
    await received(service);
    await upload.write(middle);
    upload.cut();
    await assertGone(service, before);
  });

  await t.test('that the client aborts leaves nothing, also when it is compressed', async () => {
    const upload = startUpload(service, { 'content-encoding': 'gzip' });
    const bytes = gzipSync(text, { level: 0 });
    await upload.write(bytes.subarray(0, bytes.length - 1000));
    await received(service);
    upload.cut();
    await assertGone(service, before);
  });

  await t.test('that the client aborts leaves nothing, also between two lines of NDJSON and with a key', async () => {
    const body = lines(ofOrg(org.orgId, USERS));
    const end = body.lastIndexOf('\n', body.length / 2) + 1;
    const lengths: Record<string, string>[] = [{}, { 'content-length': String(body.length) }];
    for (const headers of lengths) {
      const upload = startUpload(service, { ...NDJSON, ...headers, 'idempotency-key': 'cut' }, '?timeout=5m');
      await upload.write(body.slice(0, end));
      await received(service);
      upload.cut();
      await assertGone(service, before);
    }
    const { rows } = await service.pool.query('select * from idempotency_keys');
    assert.deepEqual(rows, []);
  });

  await t.test('whose API is killed is not visible either, and is swept when it counts as abandoned', async () => {
    const api = service.apis.at(-1);
    const upload = startUpload(service);
    await upload.write(head);
    const importId = await received(service);
    await upload.write(middle);
    api?.kill('SIGKILL');
    await upload.over;
    await service.startApi();
    await assertUnseen(service, importId);
    await swept(service, importId);
  });

  await t.test('whose API is killed during the acceptance is complete or absent', async () => {
    const api = service.apis.at(-1);
    const held = await hold(service.pool, 'lock table import_dispatch in exclusive mode');
    const answer = service.importBody(text).catch((error) => error);
    await waiters(service.pool, 1, 'muster-api');
    api?.kill('SIGKILL');
    assert.ok((await answer) instanceof Error);
    await held.commit();
    await service.startApi();
    const importId = await received(service);
    await assertUnseen(service, importId);
    await swept(service, importId);
  });

  await t.test('that was swept while its client paused is refused and leaves nothing', async () => {
    const now = await rowCounts(service.pool);
    const upload = startUpload(service);
    await upload.write(head);
    const importId = await received(service);
    await swept(service, importId);
    const { status, text: answer } = await upload.end(middle + tail);
    assert.equal(JSON.parse(answer).code, 10, answer);
    assert.equal(status, 409);
    assert.deepEqual(await rowCounts(service.pool), now);
  });

  await t.test('that completes after all this is visible from then on, with every user', async () => {
    const upload = startUpload(service);
    await upload.write(head);
    const importId = await received(service);
    await assertUnseen(service, importId);
    const { status, text: answer } = await upload.end(middle + tail);
    assert.equal(status, 202, answer);
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS.length });
  });
});

/** Waits until items of the upload have reached the database; returns the id of its import. */
function received(service: Service): Promise<string> {
  return waitFor(
    async () => {
      const { rows } = await service.pool.query(
        `select id from imports i where state = 'receiving'
           and exists (select from import_items where import_id = i.id)`,
      );
      return rows[0]?.id as string | undefined;
    },
    { what: 'the first chunk' },
  );
}

async function assertGone(service: Service, before: Record<string, number>): Promise<void> {
  await waitFor(async () => (await rowCounts(service.pool)).imports === before.imports, {
    what: 'the import to be removed',
  });
  assert.deepEqual(await rowCounts(service.pool), before);
}

async function assertUnseen(service: Service, importId: string): Promise<void> {
  for (const path of ['', '/items', '/events']) {
    assert.equal((await service.call('GET', `/admin/v1/imports/${importId}${path}`)).status, 404);
  }
  assert.equal((await service.call('POST', `/admin/v1/imports/${importId}/_cancel`)).status, 404);
  const { imports } = (await must(service.call('GET', '/admin/v1/imports'))).body;
  assert.ok(!imports.some((i: { importId: string }) => i.importId === importId));
  const { rows } = await service.pool.query('select count(*)::int as n from users where import_id = $1', [importId]);
  assert.equal(rows[0].n, 0);
}

/** Sets the upload back in time and waits until all of it is removed. */
async function swept(service: Service, importId: string): Promise<void> {
  await service.pool.query(`update imports set changed_at = now() - interval '1 day' where id = $1`, [importId]);
  await waitFor(
    async () => {
      const { rows } = await service.pool.query(
        `select (select count(*) from imports where id = $1) + (select count(*) from import_items where import_id = $1) = 0
         as gone`,
        [importId],
      );
      return rows[0].gone;
    },
    { what: 'the sweep' },
  );
}
