/** An API whose connections to PostgreSQL fall silent: callers are told to try again, and later it works as before. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { bulk, people } from '../support/imports/bodies.ts';
import { rowCounts } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { startService } from '../support/processes/service.ts';
import { startSilentProxy } from '../support/stores/silent-proxy.ts';
import { waitFor } from '../support/wait.ts';

const USERS = people('up', 1000);

test('an API whose PostgreSQL falls silent', { timeout: 180_000 }, async (t) => {
  const service = await startService(t, { ownProcesses: true, backend: 'postgres', workers: 0 });
  const proxy = await startSilentProxy(service.databaseUrl);
  t.after(() => proxy.stop());
  const { orgId } = await service.newOrg();
  const before = await rowCounts(service.pool);
  await service.startApi({ DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: '5000' });
  const list = () => service.call('GET', '/admin/v1/imports');
  const text = JSON.stringify(bulk(orgId, USERS));
  const cut = text.indexOf('"id-up900"');

  await t.test('answers 503 on existing connections and on new ones, and to an upload in progress', async () => {
    const upload = startUpload(service);
    await upload.write(text.slice(0, cut));
    await waitFor(async () => (await rowCounts(service.pool)).imports === (before.imports ?? 0) + 1, {
      what: 'the upload',
    });
    // The connections that serve these are kept for the next call.
    for (const { status } of await Promise.all([list(), list(), list()])) assert.equal(status, 200);
    proxy.silence();
    const answers = await Promise.all([list(), list(), list(), list(), list(), service.call('GET', '/readyz')]);
    for (const { status, headers } of answers) assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
    const { status, text: body } = await upload.end(text.slice(cut));
    assert.equal(status, 503, body);
  });

  await t.test('works again when PostgreSQL answers, and nothing of the upload is visible', async () => {
    proxy.recover();
    await waitFor(async () => (await list()).status === 200, { what: 'an answer', timeoutMs: 60_000 });
    assert.deepEqual((await list()).body.imports, []);
    assert.equal((await service.call('GET', '/readyz')).status, 200);
    const { status, body } = await service.importBody(text);
    assert.equal(status, 202, JSON.stringify(body));
  });
});
