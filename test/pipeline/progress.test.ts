/** Watching an import: its counts add up in every answer, and its events tell of it until it ends. */
import assert from 'node:assert/strict';
import type { Answer } from '../support/api.ts';
import { bulk, people } from '../support/bodies.ts';
import { assertEachOnce, assertSums } from '../support/outcome.ts';
import { must, onBothBackends, type Service, startService } from '../support/service.ts';

const SLOW = { WORKER_CONCURRENCY: '2' };

onBothBackends('the progress of an import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const [a, b] = [await service.newOrg(), await service.newOrg()];

  await t.test('adds up at every moment, and only grows', async () => {
    const orgs = [
      { orgId: a.orgId, humanUsers: [...people('a', 300), null] },
      { orgId: b.orgId, humanUsers: people('b', 200) },
    ];
    const { importId } = (await must(service.importBody({ timeout: '5m', dataOrgs: { orgs } }))).body;
    const at = `/admin/v1/imports/${importId}`;
    const first = (await service.call('GET', at)).body;
    assert.equal(first.state, 'IMPORT_STATE_RUNNING');
    assert.deepEqual([first.counts.pending, first.counts.failed], [500, 1]);
    await service.startWorker(SLOW);
    let last = first;
    let between = 0;
    while (last.state === 'IMPORT_STATE_RUNNING') {
      const [{ body }, { body: list }] = await Promise.all([
        must(service.call('GET', at)),
        must(service.call('GET', '/admin/v1/imports')),
      ]);
      assertSums(body);
      assertSums(list.imports[0]);
      assert.ok(body.counts.succeeded >= last.counts.succeeded);
      assert.ok(body.success.orgs.flatMap((o: { humanUserIds: string[] }) => o.humanUserIds).length <= 1000);
      if (body.counts.pending > 0 && body.counts.succeeded > 0) between++;
      if (body.state === 'IMPORT_STATE_RUNNING' && body.counts.succeeded > 0) {
        assert.ok(body.usersPerSecond > 0);
        assert.ok(Date.parse(body.eta) > Date.now() - 60_000);
      }
      last = body;
    }
    assert.ok(between > 0, 'it was never seen half done');
    assert.equal(last.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.equal(last.eta, null);
    await assertEachOnce(service, importId, { users: 500 });
  });

  await t.test('comes as events, at most four a second, the last one final', async () => {
    const second = await service.startApi();
    const { importId } = (await must(service.importBody(bulk(a.orgId, people('sse', 700))))).body;
    const [events, other] = await Promise.all([
      watch(service, importId, service.url),
      watch(service, importId, second.url),
    ]);
    for (const seen of [events, other]) {
      assert.ok(seen.length >= 2);
      for (const { body } of seen) {
        assertSums(body);
        for (const key of ['errors', 'success', 'warnings']) assert.equal(body[key], undefined);
        assert.equal(body.importId, importId);
      }
      const spanMs = (seen.at(-1)?.atMs as number) - (seen[0]?.atMs as number);
      assert.ok(seen.length <= (spanMs / 1000) * 4 + 2, `${seen.length} events in ${spanMs} ms`);
      const states = seen.map((e) => e.body.state);
      assert.equal(states.pop(), 'IMPORT_STATE_SUCCEEDED');
      assert.deepEqual(new Set(states), new Set(['IMPORT_STATE_RUNNING']));
      const { body } = await service.call('GET', `/admin/v1/imports/${importId}`);
      assert.deepEqual(seen.at(-1)?.body.counts, body.counts);
    }
  });

  await t.test('is one event when it has ended', async () => {
    const { importId } = (await must(service.importBody(bulk(a.orgId, [null])))).body;
    const events = await watch(service, importId);
    assert.deepEqual(
      events.map((e) => e.body.state),
      ['IMPORT_STATE_COMPLETED_WITH_ERRORS'],
    );
  });

  await t.test('does not mind a watcher who leaves', async () => {
    const { importId } = (await must(service.importBody(bulk(a.orgId, people('left', 200))))).body;
    const leaving = new AbortController();
    const response = await open(service, importId, service.url, leaving.signal);
    await response.body?.getReader().read();
    leaving.abort();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  });
});

interface SeenEvent {
  body: Answer['body'];
  /** When it came, in milliseconds. */
  atMs: number;
}

/** All events of an import, until the stream ends by itself. */
async function watch(service: Service, importId: string, url = service.url): Promise<SeenEvent[]> {
  const response = await open(service, importId, url);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events: SeenEvent[] = [];
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() as string;
    for (const block of blocks) {
      if (!block.startsWith(':'))
        events.push({ body: JSON.parse(block.replace(/^data: /, '')), atMs: performance.now() });
    }
  }
  assert.equal(text, '');
  return events;
}

function open(service: Service, importId: string, url: string, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${service.token}` };
  return fetch(`${url}/admin/v1/imports/${importId}/events`, { headers, ...(signal ? { signal } : {}) });
}
