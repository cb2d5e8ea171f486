/** An NDJSON import, from the request to the result. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { errorId } from '../support/answers.ts';
import { OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { lines, NDJSON, ofOrg } from '../support/imports/ndjson.ts';
import { assertEachOnce, assertSums, rowCounts } from '../support/imports/outcome.ts';
import { must, onOneBackend, startService } from '../support/processes/service.ts';

onOneBackend('an NDJSON bulk import', async (t, backend) => {
  const service = await startService(t, { backend });
  const [a, b] = [await service.newOrg(), await service.newOrg()];
  const send = (
    body: string | Uint8Array,
    query = '?timeout=10m',
    headers: Record<string, string> = {},
    token?: string,
  ) => service.importBody(body, { query, headers: { ...NDJSON, ...headers }, ...(token ? { token } : {}) });

  await t.test('ends with every user in its organization, in the order of the lines', async () => {
    const body = people('l', 300).map((one, i) => ({ orgId: i % 2 ? b.orgId : a.orgId, ...one }));
    const answer = await send(lines(body), '?timeout=30m0s');
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    assert.equal(answer.headers.get('location'), `/admin/v1/imports/${answer.body.importId}`);
    const result = await service.waitForEnd(answer.body.importId);
    assert.deepEqual([result.state, result.timeout], ['IMPORT_STATE_SUCCEEDED', '30m0s']);
    assert.deepEqual(
      result.orgs.map((o: { orgId: string; counts: { total: number } }) => [o.orgId, o.counts.total]),
      [
        [a.orgId, 150],
        [b.orgId, 150],
      ],
    );
    await assertEachOnce(service, result.importId, { users: 300 });
    const { items } = (await service.call('GET', `/admin/v1/imports/${result.importId}/items?pageSize=3`)).body;
    assert.deepEqual(
      items.map((i: { index: number; orgId: string; userId: string }) => [i.index, i.orgId, i.userId]),
      [
        [0, a.orgId, 'id-l0'],
        [1, b.orgId, 'id-l1'],
        [2, a.orgId, 'id-l2'],
      ],
    );
    assert.equal((await service.login(`l7@${b.domain}`, OLD_PASSWORD)).status, 201);
  });

  await t.test('is accepted compressed, and as several gzip members, as some tools write', async () => {
    const [one, two] = [people('gz', 200), people('member', 50)].map((users) => lines(ofOrg(a.orgId, users), '\r\n'));
    const bytes = Buffer.concat([gzipSync(one ?? ''), gzipSync(two ?? '')]);
    for (const [encoding, piece] of [
      ['gzip', bytes],
      ['x-gzip', gzipSync(lines(ofOrg(a.orgId, people('old', 5))))],
    ] as const) {
      const { body } = await must(send(piece, '?timeout=5m', { 'content-encoding': encoding }));
      const result = await service.waitForEnd(body.importId);
      assert.equal(result.counts.succeeded, encoding === 'gzip' ? 250 : 5);
    }
  });

  await t.test(
    'fails only the invalid users, warns of unknown fields, and follows the options of the query',
    async () => {
      const body = lines(ofOrg(a.orgId, [entry('w1', { shoe: 1 }), { userId: 'w2' }, { ...entry('w3'), note: 1 }]));
      const { body: accepted } = await must(send(body));
      const result = await service.waitForEnd(accepted.importId);
      assertSums(result);
      assert.deepEqual([result.counts.succeeded, result.counts.failed], [2, 1]);
      assert.match(result.errors[0].message, /^user: /);
      assert.deepEqual(
        result.warnings.map((w: { path: string }) => w.path),
        ['user.shoe', 'note'],
      );
      const strict = await must(send(body.replaceAll('"w', '"s').replaceAll('-w', '-s'), '?strict=true&timeout=5m'));
      assert.equal((await service.waitForEnd(strict.body.importId)).counts.failed, 3);
    },
  );

  await t.test('is refused as a whole, with the number of the line', async () => {
    const before = await rowCounts(service.pool);
    const users = ofOrg(a.orgId, people('no', 400));
    const whole = lines(users);
    const cases: [
      body: string | Uint8Array,
      query: string,
      status: number,
      id: string,
      says: RegExp,
      headers?: Record<string, string>,
    ][] = [
      [`${whole}{"orgId":`, '?timeout=5m', 400, 'REQUEST-JSON', /^Line 401 /],
      [whole.slice(0, -9), '?timeout=5m', 400, 'REQUEST-JSON', /^Line 400 /],
      [lines([...users, entry('no400')]), '?timeout=5m', 400, 'IMPORT-BODY', /^Line 401: orgId/],
      [lines([...users, null]), '?timeout=5m', 400, 'IMPORT-BODY', /^Line 401 must be an object/],
      [lines([...users, { orgId: 'nowhere' }]), '?timeout=5m', 404, 'ORG-NOT-FOUND', /^Line 401/],
      ['', '?timeout=5m', 400, 'IMPORT-BODY', /at least one line/],
      ['\n\n', '?timeout=5m', 400, 'IMPORT-BODY', /at least one line/],
      [whole, '', 400, 'IMPORT-TIMEOUT', /timeout is required/],
      [whole, '?timeout=', 400, 'IMPORT-TIMEOUT', /timeout/],
      [whole, '?timeout=48h', 400, 'IMPORT-TIMEOUT', /at most/],
      [whole, '?timeout=5m&timeout=6m', 400, 'IMPORT-TIMEOUT', /must be a string/],
      [whole, '?timeout=5m&colour=blue', 400, 'IMPORT-QUERY', /colour/],
      [whole, '?timeout=5m', 415, 'REQUEST-ENCODING', /gzip/, { 'content-encoding': 'deflate' }],
      [whole, '?timeout=5m', 415, 'REQUEST-ENCODING', /gzip/, { 'content-encoding': 'gzip, gzip' }],
      [whole, '?timeout=5m', 415, 'REQUEST-MEDIA-TYPE', /ndjson/, { 'content-type': 'text/plain' }],
      [
        whole,
        '?timeout=5m',
        415,
        'REQUEST-MEDIA-TYPE',
        /UTF-8/,
        { 'content-type': 'application/x-ndjson; charset=latin1' },
      ],
      [whole, '?timeout=5m', 400, 'REQUEST-BODY', /gzip/, { 'content-encoding': 'gzip' }],
      [gzipSync(whole).subarray(0, -5), '?timeout=5m', 400, 'REQUEST-BODY', /gzip/, { 'content-encoding': 'gzip' }],
      [
        Buffer.concat([gzipSync(whole), Buffer.from('x')]),
        '?timeout=5m',
        400,
        'REQUEST-BODY',
        /gzip/,
        { 'content-encoding': 'gzip' },
      ],
      [
        JSON.stringify({ dataOrgs: { orgs: [] } }),
        '?timeout=5m',
        400,
        'IMPORT-QUERY',
        /timeout/,
        { 'content-type': 'application/json' },
      ],
    ];
    for (const [body, query, status, id, says, headers] of cases) {
      const answer = await send(body, query, headers);
      assert.deepEqual([answer.status, errorId(answer)], [status, id], JSON.stringify(answer.body));
      assert.match(answer.body.message, says);
    }
    const foreign = await send(lines([...users, { orgId: b.orgId }]), '?timeout=5m', {}, a.ownerToken);
    assert.equal(foreign.status, 403);
    assert.deepEqual(await rowCounts(service.pool), before);
  });
});
