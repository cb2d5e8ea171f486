/** The limits of an upload: its size, its decompressed size, and the backlog before it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { type Answer, errorId } from '../support/answers.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { setImport } from '../support/imports/imports.ts';
import { lines, NDJSON, ofOrg } from '../support/imports/ndjson.ts';
import { assertEachOnce, rowCounts } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { must, onOneBackend, type Service, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const MB = 1_000_000;
const MAX_BYTES = 20 * MB;
/** Megabytes. */
const INFLATED = 4000;
const GZIP = { 'content-encoding': 'gzip' };

onOneBackend('an upload with limits', async (t, backend) => {
  const service = await startService(t, { ownProcesses: true, backend, env: { MAX_IMPORT_BYTES: String(MAX_BYTES) } });
  const [a, b] = [await service.newOrg(), await service.newOrg()];
  const whole = (name: string, count = 200) => Buffer.from(JSON.stringify(bulk(a.orgId, people(name, count))));
  const inLines = (name: string, count = 200) => Buffer.from(lines(ofOrg(a.orgId, people(name, count))));
  const send = (body: Uint8Array, format: 'json' | 'ndjson', headers = {}): Promise<Answer> =>
    format === 'json'
      ? service.importBody(body, { headers })
      : service.importBody(body, { query: '?timeout=5m', headers: { ...NDJSON, ...headers } });

  await t.test('may be as large as MAX_IMPORT_BYTES and no larger, compressed or not', async () => {
    for (const [format, body] of [
      ['json', whole('most')],
      ['ndjson', inLines('most-lines')],
    ] as const) {
      const padded = (bytes: number) => [gzipSync(body, { level: 1 }), ...filler(bytes - body.length, format)];
      const taken = await send(Buffer.concat(padded(MAX_BYTES)), format, GZIP);
      assert.equal(taken.status, 202, JSON.stringify(taken.body));
      await service.waitForEnd(taken.body.importId);
      await assertEachOnce(service, taken.body.importId, { users: 200 });
      const refused = await send(Buffer.concat(padded(MAX_BYTES + 1)), format, GZIP);
      assert.deepEqual([refused.status, errorId(refused)], [413, 'REQUEST-TOO-LARGE']);
    }
  });

  await t.test('that inflates to gigabytes is refused, in memory that does not grow with it', async (t) => {
    const pid = service.apis[0]?.pid as number;
    const before = await peakMemory(pid);
    if (before === undefined) return t.skip('no /proc here');
    const rows = await rowCounts(service.pool);
    const shapes: ['json' | 'ndjson', Buffer, number, string][] = [
      ['json', whole('bomb', 2000), 413, 'REQUEST-TOO-LARGE'],
      ['ndjson', inLines('bomb', 2000), 413, 'REQUEST-TOO-LARGE'],
      // Inside one user, where nothing may be that large.
      ['json', Buffer.from(whole('bomb', 2000).toString().slice(0, -40)), 400, 'IMPORT-ENTRY-SIZE'],
      ['ndjson', Buffer.from(`${inLines('bomb', 2000)}{"orgId":"`), 400, 'IMPORT-ENTRY-SIZE'],
    ];
    for (const [format, body, status, id] of shapes) {
      const fill = filler(INFLATED * MB, status === 413 ? format : 'json');
      const bomb = Buffer.concat([gzipSync(body), ...fill]);
      assert.ok(bomb.length < 5 * MB);
      const answer = await send(bomb, format, GZIP);
      assert.deepEqual([answer.status, errorId(answer)], [status, id], JSON.stringify(answer.body));
    }
    assert.deepEqual(await rowCounts(service.pool), rows);
    const grown = ((await peakMemory(pid)) as number) - before;
    // A process that has just started grows by 100 to 300 MB anyway.
    assert.ok(grown < (INFLATED * MB) / 4, `${Math.round(grown / MB)} MB`);
  });

  await t.test('is refused before it is read when its Content-Length is too large', async () => {
    const upload = startUpload(service, { 'content-length': String(MAX_BYTES + 1) });
    await upload.over;
    const { status, text } = await upload.end();
    assert.deepEqual([status, JSON.parse(text).code], [413, 8]);
  });

  await t.test(
    'is one of 16 of its caller, and holds no connection to PostgreSQL while its client pauses',
    async () => {
      const users = people('slow', 2000);
      const text = JSON.stringify(bulk(a.orgId, users));
      assert.ok(text.length > 300_000, 'enough for a COPY');
      const headers = { authorization: `Bearer ${a.ownerToken}` };
      const uploads = Array.from({ length: 16 }, () => startUpload(service, headers));
      await Promise.all(uploads.map((upload) => upload.write(text.slice(0, -10))));
      const query = `select count(*)::int as n from import_items`;
      await waitFor(async () => (await service.pool.query(query)).rows[0].n >= 16 * 1000, { what: 'their rows' });
      const copies = `select pid from pg_stat_activity where datname = current_database() and query ilike 'copy%' and state <> 'idle'`;
      await waitFor(async () => (await service.pool.query(copies)).rowCount === 0, { what: 'the end of all COPYs' });

      const refused = await service.importBody(bulk(a.orgId, people('more', 1)), { token: a.ownerToken });
      assert.deepEqual(
        [refused.status, errorId(refused), refused.headers.get('retry-after')],
        [429, 'IMPORT-UPLOADS', '1'],
      );
      const other = await service.importBody(bulk(b.orgId, people('other', 1)), { token: b.ownerToken });
      assert.equal(other.status, 202);
      for (const upload of uploads) upload.cut();
      await waitFor(
        async () =>
          (await service.importBody(bulk(a.orgId, people('late', 1)), { token: a.ownerToken })).status === 202,
        { what: 'room for the next upload' },
      );
    },
  );

  await t.test('is independent of concurrent uploads, whatever happens to them', async () => {
    const bodies = [
      JSON.stringify(bulk(a.orgId, people('first', 900))),
      JSON.stringify(bulk(b.orgId, people('second', 700))),
      JSON.stringify(bulk(a.orgId, people('third', 800))).replace('"id-third799"', '"id-third799'),
      JSON.stringify(bulk(b.orgId, people('fourth', 800))),
    ];
    await noneReceiving(service);
    const rows = await rowCounts(service.pool);
    const uploads = bodies.map(() => startUpload(service));
    const size = 30_000;
    for (let at = 0; bodies.some((text) => at < text.length - size); at += size) {
      await Promise.all(
        uploads.map((upload, i) => upload.write(bodies[i]?.slice(at, at + size) ?? '').catch(() => {})),
      );
      if (at > 4 * size) uploads[3]?.cut();
    }
    const [first, second, third] = await Promise.all(
      uploads.slice(0, 3).map((upload, i) => {
        const text = bodies[i] as string;
        const sent = Math.ceil((Math.max(...bodies.map((one) => one.length)) - size) / size) * size;
        return upload.end(text.slice(sent));
      }),
    );
    assert.deepEqual([first?.status, second?.status, third?.status], [202, 202, 400]);
    for (const [answer, orgId, users] of [
      [first, a.orgId, 900],
      [second, b.orgId, 700],
    ] as const) {
      const result = await service.waitForEnd(JSON.parse(answer?.text ?? '').importId);
      assert.deepEqual(
        result.orgs.map((o: { orgId: string }) => o.orgId),
        [orgId],
      );
      await assertEachOnce(service, result.importId, { users });
    }
    await noneReceiving(service);
    const after = await rowCounts(service.pool);
    assert.deepEqual([after.imports, after.import_items], [(rows.imports ?? 0) + 2, (rows.import_items ?? 0) + 1600]);
  });
});

/** Waits until nothing is left of uploads that were cut. */
async function noneReceiving({ pool }: Service): Promise<void> {
  const sql = `select from imports where state = 'receiving'`;
  await waitFor(async () => (await pool.query(sql)).rowCount === 0, { what: 'the end of the cut uploads' });
}

onOneBackend('an import while the backlog is over its limit', async (t, backend) => {
  const env = { MAX_BACKLOG: '100', SINGLE_IMPORT_TIMEOUT_MS: '300' };
  const service = await startService(t, { ownProcesses: true, backend, env, workers: 0 });
  const org = await service.newOrg();
  const send = (name: string, count: number, headers = {}) =>
    service.importBody(bulk(org.orgId, people(name, count)), { headers });
  const pending = async (importId: string, n: number, state = 'running') =>
    setImport(service.pool, importId, { succeeded: `total - ${n}`, state: `'${state}'` });

  const first = await must(send('first', 150, { 'idempotency-key': 'first' }));

  await t.test('is answered 429 before its body is read, and leaves nothing', async () => {
    const before = await rowCounts(service.pool);
    const upload = startUpload(service);
    await upload.over;
    const { status, text } = await upload.end();
    const { code, details } = JSON.parse(text);
    assert.deepEqual([status, code, details[0].id], [429, 8, 'IMPORT-BACKLOG']);
    const refused = await send('second', 1);
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.deepEqual(await rowCounts(service.pool), before);
  });

  await t.test('is answered although the client sends all of its body first', async () => {
    const upload = startUpload(service);
    await Promise.all(Array.from({ length: 16 }, () => upload.write(Buffer.alloc(MB, ' '))));
    assert.equal((await upload.end()).status, 429);
  });

  await t.test('is first refused for a missing role', async () => {
    const viewer = await service.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    const body = bulk(org.orgId, people('x', 1));
    assert.equal((await service.importBody(body, { token: viewer.token })).status, 403);
  });

  await t.test('gets the earlier answer when it repeats an accepted one', async () => {
    const again = await send('first', 150, { 'idempotency-key': 'first' });
    assert.deepEqual([again.status, again.body.importId], [202, first.body.importId]);
  });

  await t.test('is accepted when it is a single import', async () => {
    const [{ user } = assert.fail()] = people('single', 1);
    const path = '/management/v1/users/human/_import';
    assert.equal((await service.call('POST', path, user, { orgId: org.orgId })).status, 504, 'no worker runs');
  });

  await t.test('is accepted as soon as the backlog is at its limit; paused imports count', async () => {
    await pending(first.body.importId, 101, 'paused');
    assert.equal((await send('second', 1)).status, 429);
    await pending(first.body.importId, 100, 'paused');
    const second = await send('second', 1);
    assert.equal(second.status, 202);
    assert.equal((await send('third', 1)).status, 429);
    await must(service.call('POST', `/admin/v1/imports/${first.body.importId}/_cancel`));
    assert.equal((await send('third', 1)).status, 202);
  });
});

/** Gzip members that inflate to this many bytes of whitespace, which every format allows at its end. */
function filler(bytes: number, format: 'json' | 'ndjson'): Buffer[] {
  const member = (n: number) => gzipSync(Buffer.alloc(n, format === 'json' ? ' ' : '\n'));
  const step = 10 * MB;
  const whole = member(step);
  return [...Array.from({ length: Math.floor(bytes / step) }, () => whole), member(bytes % step)];
}

/** The peak memory of a process, in bytes; undefined where the system does not report it. */
async function peakMemory(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const match = /VmHWM:\s+(\d+) kB/.exec(status);
  return match ? Number(match[1]) * 1024 : undefined;
}
