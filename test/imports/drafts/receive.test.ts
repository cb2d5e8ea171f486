/** Bodies of imports that are kept as drafts: sent once, checked, started. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { convertRound } from '../../../src/imports/drafts/convert-round.ts';
import { startDispatcher } from '../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../workers/import-users.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { newDraft } from '../../support/imports/drafts.ts';
import { entry } from '../../support/imports/imports.ts';
import { hold } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
let orgId: string;
let workers: { stop(): Promise<unknown> }[];
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  workers = [startImportWorker(api.deps), startDispatcher(api.deps)];
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await api.stop();
});

const call = (method: string, path: string, body?: unknown) => api.call(method, `/admin/v1/imports/${path}`, body);
const until = (id: string, isDone: (now: { state: string; counts: { pending: number } }) => boolean) =>
  waitFor(
    async () => {
      const { body } = await call('GET', id);
      return isDone(body) ? body : undefined;
    },
    { what: `import ${id}` },
  );
const lines = (...users: object[]) => users.map((user) => `${JSON.stringify({ orgId, ...user })}\n`).join('');
const send = (query: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', `/admin/v1/import?draft=true${query}`, body, {
    headers: { ...(typeof body === 'string' ? { 'content-type': 'application/x-ndjson' } : {}), ...headers },
  });

test('lines are kept as a draft, checked, and started with other options, without being sent again', async () => {
  const old = entry('rd-old', { profile: { firstName: 'Ann', lastName: 'Arbor', nickName: 'kept' } });
  const existing = await api.call('POST', '/admin/v1/import', bulk(orgId, [old]));
  await until(existing.body.importId, ({ counts }) => counts.pending === 0);
  const users = [
    entry('rd-old', { profile: { firstName: 'Ann', lastName: 'Elm' } }),
    entry('rd-new'),
    entry('rd-bad', { email: { email: 'x' } }),
    entry('rd-new'),
  ];
  const sent = await send('', lines(...users), { 'idempotency-key': 'rd', prefer: 'wait=5' });
  assert.equal(sent.status, 202, JSON.stringify(sent.body));
  const { importId: id, state, counts } = sent.body;
  assert.deepEqual([state, counts.total, counts.failed], ['IMPORT_STATE_DRAFT', 4, 1]);
  assert.equal(sent.headers.get('location'), `/admin/v1/imports/${id}`);
  const again = await send('', lines(...users), { 'idempotency-key': 'rd' });
  assert.equal(again.body.importId, id, 'sent again, it is the same draft');

  assert.equal((await call('POST', `${id}/_check`, { onExisting: 'skip' })).status, 200);
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
  const { draft } = await until(id, (now) => now.state === 'IMPORT_STATE_CHECKED');
  const { succeeded, skipped, failed } = draft.check.counts;
  assert.deepEqual([succeeded, skipped, failed], [1, 2, 1]);
  const dryRun = (await call('GET', draft.check.importId)).body;
  assert.deepEqual([dryRun.dryRun, dryRun.hashes[0].users], [true, 4]);

  const started = await call('POST', `${id}/_start`, { timeout: '10m', onExisting: 'update' });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const done = await until(id, (now) => now.counts.pending === 0);
  assert.deepEqual([done.counts.succeeded, done.counts.failed], [2, 2]);
  const { rows } = await api.deps.pool.query(`select nick_name, family_name from users where user_name = 'rd-old'`);
  assert.deepEqual(rows, [{ nick_name: 'kept', family_name: 'Elm' }], 'an update keeps what the entry omits');
  assert.equal(
    (await send('', lines(...users), { 'idempotency-key': 'rd' })).body.importId,
    id,
    'also when it has started',
  );
});

test('a dataOrgs body needs no timeout; what a start is asked for is refused, by name', async () => {
  const { dataOrgs } = bulk(orgId, [entry('rd-json')]) as { dataOrgs: unknown };
  const kept = await send('&withoutEmail=true', { dataOrgs });
  assert.deepEqual([kept.status, kept.body.state], [202, 'IMPORT_STATE_DRAFT'], JSON.stringify(kept.body));
  const wrong = await send('&dryRun=true&mails=none&onExisting=skip', { dataOrgs });
  assert.deepEqual(
    [wrong.status, errorId(wrong), wrong.body.details[1].fieldViolations.map((v: { field: string }) => v.field)],
    [400, 'IMPORT-QUERY', ['dryRun', 'onExisting', 'mails']],
  );
  const discarded = await call('POST', `${kept.body.importId}/_discard`);
  assert.equal(discarded.body.state, 'IMPORT_STATE_DISCARDED');
});

test('of requests that start the same draft at once, one starts it, and the others say that it has started', async () => {
  const id = (await send('', lines(entry('rd-once')))).body.importId;
  // All have found the draft before the first one commits.
  const held = await hold(api.deps.pool, 'select from import_preparations where import_id = $1 for update', [id]);
  const starting = Array.from({ length: 3 }, () => call('POST', `${id}/_start`, { timeout: '10m' }));
  const waiting = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%import_preparations%'`;
  await waitFor(async () => (await api.deps.pool.query(waiting)).rows[0].n === 3, { what: 'the starts' });
  await held.commit();
  const answers = await Promise.all(starting);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400, 400]);
  const refused = answers.filter(({ status }) => status === 400).map(errorId);
  assert.deepEqual(refused, ['IMPORT-STATE', 'IMPORT-STATE']);
});

test('a body that is refused leaves no draft; a caller with 20 drafts is refused before the body is read', async () => {
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const count = async () =>
    (await api.deps.pool.query('select count(*)::int as n from import_preparations')).rows[0].n as number;
  const before = await count();
  assert.equal((await send('', `${lines(entry('rd-c'))}nonsense\n`)).status, 400);
  assert.equal(await count(), before);
  for (let i = 0; i < 20; i++) await newDraft(api, {}, { token });
  const refused = await api.call('POST', '/admin/v1/import?draft=true', 'nonsense\n', {
    token,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  assert.deepEqual([refused.status, errorId(refused)], [429, 'IMPORT-DRAFTS']);
});
