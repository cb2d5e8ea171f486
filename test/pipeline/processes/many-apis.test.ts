/** Two API processes of one service: what they share, and how many connections their event streams take. */
import assert from 'node:assert/strict';
import { bulk, people } from '../../support/imports/bodies.ts';
import { holdWriting } from '../../support/imports/hold.ts';
import { must, onOneBackend, startService } from '../../support/processes/service.ts';
import { waitFor } from '../../support/wait.ts';

const STREAMS = 20;
const ATTEMPTS = 7;
const WRONG = { checks: { user: { userId: 'missing' }, password: { password: 'x' } } };

onOneBackend('API processes', async (t, backend) => {
  const service = await startService(t, { backend, env: { RATE_LIMIT_LOGINS: String(ATTEMPTS), LOGIN_DELAY_MS: '0' } });
  const { orgId } = await service.newOrg();
  await service.startApi();
  const urls = service.apis.map(({ url }) => url);
  const connections = async (name: string, state?: string) => {
    const text = `select from pg_stat_activity
      where datname = current_database() and application_name = $1 and state = coalesce($2, state)`;
    return (await service.pool.query(text, [name, state])).rowCount;
  };

  await t.test('listen on one connection each, however many event streams they have', async () => {
    const writing = await holdWriting(service.pool);
    const { importId } = (await must(service.importBody(bulk(orgId, people('s', 5))))).body;
    const headers = { authorization: `Bearer ${service.token}` };
    const open = (url: string) => fetch(`${url}/admin/v1/imports/${importId}/events`, { headers });
    const streams = await Promise.all(urls.flatMap((url) => Array.from({ length: STREAMS }, () => open(url))));
    const readers = streams.map(({ body }) => body?.getReader() ?? assert.fail());
    // Each stream has begun.
    await Promise.all(readers.map((reader) => reader.read()));
    assert.equal(await connections('muster-signal'), urls.length);
    // The pools keep idle ones; no stream holds one.
    await waitFor(async () => (await connections('muster-api', 'idle')) === (await connections('muster-api')), {
      what: 'all connections to be idle',
    });
    await writing.commit();
    const ends = await Promise.all(readers.map(readToEnd));
    assert.ok(
      ends.every((text) => text.includes('IMPORT_STATE_SUCCEEDED')),
      'each stream shows the end',
    );
  });

  await t.test('count attempts to log in together', async () => {
    const attempt = (n: number) =>
      service.call('POST', '/v2beta/sessions', WRONG, { url: urls[n % urls.length] as string });
    for (let n = 0; n < ATTEMPTS; n++) assert.equal((await attempt(n)).status, 400, `attempt ${n}`);
    for (const n of [0, 1]) {
      const { status, headers } = await attempt(n);
      assert.equal(status, 429);
      const seconds = Number(headers.get('retry-after'));
      assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`);
    }
    // Refused attempts of an address that is over the limit reach the database once for each process.
    for (let n = 0; n < 10; n++) assert.equal((await attempt(n)).status, 429);
    const { rows } = await service.pool.query('select attempts from attempt_counts');
    assert.deepEqual(rows, [{ attempts: ATTEMPTS + urls.length }]);
    await service.pool.query(`update attempt_counts set ends_at = now() - interval '1 second'`);
    const next = await service.startApi();
    const answer = () => service.call('POST', '/v2beta/sessions', WRONG, { url: next.url });
    await waitFor(async () => (await answer()).status === 400, { what: 'the next window' });
  });
});

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString();
    chunks.push(value);
  }
}
