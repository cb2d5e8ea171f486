/** Requests that are refused as a whole: the answer names the problem, and nothing of them remains. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { Answer } from '../support/answers.ts';
import { bulk, people } from '../support/imports/bodies.ts';
import { rowCounts } from '../support/imports/outcome.ts';
import { must, onOneBackend, type ServiceCall, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

const MAX_BYTES = 1_000_000;
/** Many of them are already being written when the end of the body is read. */
const MANY = people('many', 1500);

const WEBHOOK = `?webhook=${encodeURIComponent('https://example.com/hook')}`;
const BAD_QUERIES = [
  'dryRun=yes',
  'dryRun=true&dryRun=true',
  'onExisting=replace',
  'onExisting=',
  'mails=later',
  ...[
    'example.com',
    'ftp://example.com/',
    'http://example.com/',
    'https://me:secret@example.com/',
    'https://example.com/#here',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://192.168.1.1:8443/hook',
    `https://example.com/${'x'.repeat(2000)}`,
  ].map((url) => `webhook=${encodeURIComponent(url)}`),
];

interface Refusal {
  name: string;
  status: number;
  /** gRPC code. */
  code: number;
  body?: unknown;
  options?: ServiceCall & { query?: string };
  /** A field that the answer must name. */
  field?: string;
  id?: string;
}

onOneBackend('a refused import', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0, env: { MAX_IMPORT_BYTES: String(MAX_BYTES) } });
  // Anything accepted by mistake would show as jobs, as no worker processes them.
  await service.startWorker({ WORKER_ROLES: 'dispatch,mail' });
  const [a, b] = [await service.newOrg(), await service.newOrg()];
  const viewer = await service.machine(a.orgId, ['ORG_OWNER_VIEWER']);
  const manager = await service.machine(a.orgId, ['ORG_USER_MANAGER']);
  const ofA = { token: a.ownerToken };
  const users = people('u', 3);
  const whole = JSON.stringify(bulk(a.orgId, users));
  const many = JSON.stringify(bulk(a.orgId, MANY));
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  const cases: Refusal[] = [
    { name: 'no token', status: 401, code: 16, options: { token: null } },
    { name: 'an unknown token', status: 401, code: 16, options: { token: 'x'.repeat(40) } },
    { name: 'a viewer', status: 403, code: 7, options: { token: viewer.token } },
    { name: 'a manager of users', status: 403, code: 7, options: { token: manager.token } },
    { name: 'the owner of another organization', status: 403, code: 7, options: { token: b.ownerToken } },
    { name: 'a broken body of a viewer', status: 403, code: 7, options: { token: viewer.token }, body: '{' },
    {
      name: 'the owner of one of two organizations',
      status: 403,
      code: 7,
      options: ofA,
      body: {
        timeout: '5m',
        dataOrgs: {
          orgs: [
            { orgId: a.orgId, humanUsers: MANY },
            { orgId: b.orgId, humanUsers: users },
          ],
        },
      },
    },
    { name: 'an unknown organization, IAM_OWNER', status: 404, code: 5, body: bulk('nowhere', users) },
    { name: 'an unknown organization, its owner', status: 403, code: 7, options: ofA, body: bulk('nowhere', users) },
    { name: 'an organization with NUL', status: 400, code: 3, body: bulk(`${a.orgId}\0`, users) },
    { name: 'a number for an organization', status: 400, code: 3, body: bulk(7 as unknown as string, users) },
    ...[
      ['no dataOrgs', { timeout: '5m' }, 'dataOrgs'],
      ['no orgs', { dataOrgs: {}, timeout: '5m' }, 'dataOrgs.orgs'],
      ['no organization', { dataOrgs: { orgs: [] }, timeout: '5m' }, 'dataOrgs.orgs'],
      ['no user', bulk(a.orgId, []), 'dataOrgs.orgs'],
      ['no orgId', { dataOrgs: { orgs: [{ humanUsers: users }] }, timeout: '5m' }, 'dataOrgs.orgs[0].orgId'],
      ['orgs of the wrong type', { dataOrgs: { orgs: {} }, timeout: '5m' }, 'orgs'],
      ['no timeout', { dataOrgs: bulk(a.orgId, users).dataOrgs }, 'timeout'],
    ].map(([name, body, field]) => ({ name, body, field, status: 400, code: 3 }) as Refusal),
    ...['', '0s', '-5m', '24h0m1s', '5', '5 minutes', '1d', 300, null, {}].map((timeout) => ({
      name: `timeout ${JSON.stringify(timeout)}`,
      status: 400,
      code: 3,
      body: { ...bulk(a.orgId, users), timeout },
      field: 'timeout',
    })),
    { name: 'an array', status: 400, code: 3, body: '[]' },
    { name: 'no body', status: 400, code: 3, body: '' },
    { name: 'truncated JSON', status: 400, code: 3, body: many.slice(0, -3) },
    { name: 'JSON with trailing text', status: 400, code: 3, body: `${many}]` },
    { name: 'a comma too many', status: 400, code: 3, body: whole.replace('}]}]}', '},]}]}') },
    {
      name: 'bytes that are not UTF-8',
      status: 400,
      code: 3,
      body: Buffer.from(whole.replace('Ann', 'A\xff'), 'latin1'),
    },
    { name: 'dataOrgs twice', status: 400, code: 3, body: whole.replace('{', '{"dataOrgs":{"orgs":[]},') },
    { name: 'dataOrgs in both spellings', status: 400, code: 3, body: whole.replace('{', '{"data_orgs":{"orgs":[]},') },
    { name: 'timeout twice', status: 400, code: 3, body: whole.replace('{', '{"timeout":"1m",') },
    {
      name: 'a user nested too deep',
      status: 400,
      code: 3,
      id: 'IMPORT-DEPTH',
      body: many.replace('"many1499@example.com"', nested(60)),
    },
    {
      name: 'an unknown field nested too deep',
      status: 400,
      code: 3,
      id: 'IMPORT-DEPTH',
      body: whole.replace('{', `{"x":${nested(64)},`),
    },
    { name: 'an unknown parameter', status: 400, code: 3, options: { query: '?dryrun=true' } },
    { name: 'strict=maybe', status: 400, code: 3, options: { query: '?strict=maybe' } },
    ...BAD_QUERIES.map((query) => ({
      name: query,
      status: 400,
      code: 3,
      options: { query: `?${query}` },
      field: query.split('=')[0] as string,
    })),
    {
      name: 'a webhook without a secret to sign it',
      status: 400,
      code: 9,
      options: { query: WEBHOOK },
      id: 'IMPORT-WEBHOOK-SECRET',
    },
    {
      name: 'a webhook signed by another organization',
      status: 403,
      code: 7,
      options: { ...ofA, query: WEBHOOK, orgId: b.orgId },
    },
    { name: 'an Idempotency-Key that is empty', status: 400, code: 3, options: { headers: { 'idempotency-key': '' } } },
    { name: 'another media type', status: 415, code: 3, options: { headers: { 'content-type': 'text/csv' } } },
    { name: 'another encoding', status: 415, code: 3, options: { headers: { 'content-encoding': 'br' } } },
    { name: 'a broken gzip', status: 400, code: 3, options: { headers: { 'content-encoding': 'gzip' } } },
    { name: 'a body that is too large', status: 413, code: 8, body: `${many}${' '.repeat(MAX_BYTES)}` },
    {
      name: 'a gzip that inflates beyond the limit',
      status: 413,
      code: 8,
      options: { headers: { 'content-encoding': 'gzip' } },
      body: gzipSync(`${many}${' '.repeat(MAX_BYTES)}`),
    },
  ];

  const before = await rowCounts(service.pool);
  for (const one of cases) {
    await t.test(`is answered with ${one.status}: ${one.name}`, async () => {
      const answer = await service.importBody(one.body ?? whole, one.options);
      assertError(answer, one);
      assert.deepEqual(await rowCounts(service.pool), before);
    });
  }

  await t.test('names the first problem in body order', async () => {
    const orgs = JSON.stringify(bulk('nowhere', users).dataOrgs);
    assert.equal((await service.importBody(`{"timeout":"never","dataOrgs":${orgs}}`)).status, 400);
    assert.equal((await service.importBody(`{"dataOrgs":${orgs},"timeout":"never"}`)).status, 404);
    assert.equal((await service.importBody(`{"dataOrgs":${orgs},"timeout":"5m"`)).status, 404);
  });

  await t.test('is answered with 405 for another method and 404 for another path', async () => {
    const get = await service.call('GET', '/admin/v1/import');
    assertError(get, { status: 405, code: 12 });
    assert.match(get.headers.get('allow') ?? '', /POST/);
    assertError(await service.call('POST', '/admin/v1/imports/1/_explode', {}), { status: 404, code: 5 });
  });

  await t.test('leaves no row, no job and no mail', async () => {
    assert.deepEqual(await rowCounts(service.pool), before);
    const { body } = await must(service.importBody(bulk(a.orgId, people('good', 7))));
    await waitFor(async () => (await service.depth()) >= 7, { what: 'the jobs of an import that is not refused' });
    assert.equal(await service.depth(), 7);
    const list = await service.call('GET', '/admin/v1/imports');
    assert.deepEqual(
      list.body.imports.map((i: { importId: string }) => i.importId),
      [body.importId],
    );
    assert.equal(await service.depth('mails'), 0);
    assert.deepEqual(service.smtp.mails, []);
  });
});

/** The error body. */
function assertError(
  answer: Answer,
  { status, code, field, id }: Pick<Refusal, 'status' | 'code' | 'field' | 'id'>,
): void {
  const text = JSON.stringify(answer.body);
  assert.equal(answer.status, status, text);
  assert.deepEqual(Object.keys(answer.body).sort(), ['code', 'details', 'message']);
  assert.equal(answer.body.code, code);
  assert.notEqual(answer.body.message, '');
  const [detail, bad] = answer.body.details;
  assert.equal(detail['@type'], 'type.googleapis.com/service.v1.ErrorDetail');
  assert.match(detail.id, /^[A-Z0-9]+(-[A-Z0-9]+)*$/);
  if (id) assert.equal(detail.id, id);
  if (field) {
    assert.equal(bad['@type'], 'type.googleapis.com/google.rpc.BadRequest');
    assert.deepEqual(
      bad.fieldViolations.map((v: { field: string }) => v.field),
      [field],
    );
  }
  assert.ok(answer.headers.get('x-request-id'));
  if (status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  assert.doesNotMatch(text, /node_modules|\.ts\b|select |insert |postgres/i);
}
