/** Watching an import: its counts add up in every answer, and its events report the progress until it ends. */
import assert from 'node:assert/strict';
import type { Answer } from '../support/answers.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { beginHeld, holdItems } from '../support/imports/hold.ts';
import { assertEachOnce, assertSums } from '../support/imports/outcome.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';

const SLOW = { WORKER_CONCURRENCY: '2' };

onEachBackend('the progress of an import', async (t, backend) => {
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
    const middle = await holdItems(service.pool, importId, 250);
    await service.startWorker(SLOW);
    let last = first;
    while (last.state === 'IMPORT_STATE_RUNNING') {
      const [{ body }, { body: list }] = await Promise.all([
        must(service.call('GET', at)),
        must(service.call('GET', '/admin/v1/imports')),
      ]);
      assertSums(body);
      assertSums(list.imports[0]);
      assert.ok(body.counts.succeeded >= last.counts.succeeded);
      assert.ok(body.success.orgs.flatMap((o: { humanUserIds: string[] }) => o.humanUserIds).length <= 1000);
      if (body.state === 'IMPORT_STATE_RUNNING' && body.counts.succeeded > 0) {
        assert.ok(body.usersPerSecond > 0);
        assert.ok(Date.parse(body.eta) > Date.now() - 60_000);
      }
      // The import stays half done until the test has seen it so.
      if (body.counts.succeeded > 0) await middle.commit();
      last = body;
    }
    assert.equal(last.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    assert.equal(last.eta, null);
    await assertEachOnce(service, importId, { users: 500 });
  });

  await t.test('is sent as events, at most four a second, and the last one is final', async () => {
    const second = await service.startApi();
    const body = bulk(a.orgId, people('sse', 400));
    const { importId, gates } = await beginHeld(service, body, [200]);
    let begun = 0;
    // The import continues to its end when both readers have seen it running.
    const onFirst = async () => {
      if (++begun === 2) for (const gate of gates) await gate.commit();
    };
    const watched = await Promise.all([service.url, second.url].map((url) => watch(service, importId, url, onFirst)));
    for (const { seen, tookMs } of watched) {
      assert.ok(seen.length >= 2);
      for (const body of seen) {
        assertSums(body);
        for (const key of ['errors', 'success', 'warnings']) assert.equal(body[key], undefined);
        assert.equal(body.importId, importId);
      }
      assert.ok(seen.length <= (tookMs / 1000) * 4 + 2, `${seen.length} events in ${tookMs} ms`);
      const states = seen.map((body) => body.state);
      assert.equal(states.pop(), 'IMPORT_STATE_SUCCEEDED');
      assert.deepEqual(new Set(states), new Set(['IMPORT_STATE_RUNNING']));
      const { body: result } = await service.call('GET', `/admin/v1/imports/${importId}`);
      assert.deepEqual(seen.at(-1)?.counts, result.counts);
    }
  });

  await t.test('is a single event when the import has ended', async () => {
    const { importId } = (await must(service.importBody(bulk(a.orgId, [null])))).body;
    const { seen } = await watch(service, importId);
    assert.deepEqual(
      seen.map((body) => body.state),
      ['IMPORT_STATE_COMPLETED_WITH_ERRORS'],
    );
    const again = await open(service, importId, { headers: { 'last-event-id': 'end' } });
    assert.deepEqual([again.status, await again.text()], [204, ''], 'an EventSource stops');
  });

  await t.test('is not affected by a reader that disconnects', async () => {
    const { importId } = (await must(service.importBody(bulk(a.orgId, people('left', 200))))).body;
    const leaving = new AbortController();
    const response = await open(service, importId, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  });
});

interface Watched {
  /** The data of each message. */
  seen: Answer['body'][];
  /** From the request to the end of the stream, in milliseconds. */
  tookMs: number;
}

/** All messages about an import, until the server ends the stream with the event `end`. */
async function watch(
  service: Service,
  importId: string,
  url = service.url,
  onFirst = async () => {},
): Promise<Watched> {
  const begun = performance.now();
  const response = await open(service, importId, { url });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream; charset=utf-8$/);
  const events: Record<string, string>[] = [];
  for await (const event of eventsOf(response)) if (events.push(event) === 1) await onFirst();
  const end = events.pop();
  assert.deepEqual(end, { event: 'end', id: 'end', data: events.at(-1)?.data });
  assert.deepEqual(
    events.map(({ id }) => Number(id)),
    events.map((_, i) => i + 1),
  );
  return { seen: events.map(({ data }) => JSON.parse(data as string)), tookMs: performance.now() - begun };
}

/** The fields of each event. */
async function* eventsOf(response: Response): AsyncGenerator<Record<string, string>> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() as string;
    for (const block of blocks) {
      if (block.startsWith(':')) continue;
      yield Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
    }
  }
  assert.equal(text, '');
}

interface OpenOptions {
  url?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

function open(service: Service, importId: string, options: OpenOptions = {}): Promise<Response> {
  const { url = service.url, headers, ...rest } = options;
  const authorization = `Bearer ${service.token}`;
  return fetch(`${url}/admin/v1/imports/${importId}/events`, { headers: { authorization, ...headers }, ...rest });
}
