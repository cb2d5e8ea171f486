import assert from 'node:assert/strict';
import test, { after, before, beforeEach } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { waitFor } from '../support/wait.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());
beforeEach(() => api.deps.pool.query('truncate audit_events'));

const SEARCH = '/admin/v1/events/_search';
const EXPORT = '/admin/v1/events/_export';
type Event = Record<string, unknown> & { sequence: string };

const DEFAULTS = { type: 'user.locked', actor_kind: 'human', created_at: '2026-01-31T12:00:00Z' };
async function plant(...events: Record<string, unknown>[]): Promise<string[]> {
  const sequences = [];
  for (const event of events) {
    const row = { ...DEFAULTS, ...event };
    const places = Object.keys(row).map((_, i) => `$${i + 1}`);
    const text = `insert into audit_events (${Object.keys(row)}) values (${places}) returning sequence`;
    sequences.push((await api.deps.pool.query(text, Object.values(row))).rows[0].sequence);
  }
  return sequences;
}

async function search(body: object, token = api.token): Promise<string[]> {
  const answer = await api.call('POST', SEARCH, body, { token });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.result.map(({ sequence }: Event) => sequence);
}

test('each filter finds its events, newest first', async () => {
  const [a, b, c] = await plant(
    { user_id: 'u1', actor_id: 'a1', org_id: 'o1', client_id: 'c1', address: '203.0.113.7' },
    { type: 'user.unlocked', user_id: 'u2', actor_id: 'a1', org_id: 'o2', created_at: '2026-01-31T13:00:00Z' },
    { type: 'user.removed', user_id: 'u1', address: '2001:db8::7', created_at: '2026-01-31T14:00:00Z' },
  );
  assert.deepEqual(await search({}), [c, b, a]);
  assert.deepEqual(await search({ asc: true }), [a, b, c]);
  assert.deepEqual(await search({ types: ['user.locked'] }), [a]);
  assert.deepEqual(await search({ types: ['user.removed', 'user.unlocked'] }), [c, b]);
  assert.deepEqual(await search({ userId: 'u1' }), [c, a]);
  assert.deepEqual(await search({ actorId: 'a1' }), [b, a]);
  assert.deepEqual(await search({ orgId: 'o2' }), [b]);
  assert.deepEqual(await search({ clientId: 'c1' }), [a]);
  assert.deepEqual(await search({ address: '203.0.113.7' }), [a]);
  assert.deepEqual(await search({ address: '::ffff:203.0.113.7' }), [a]);
  assert.deepEqual(await search({ address: '203.0.113.0/24' }), [a]);
  assert.deepEqual(await search({ address: '2001:db8::/32' }), [c]);
  assert.deepEqual(await search({ from: '2026-01-31T13:00:00Z' }), [c, b]);
  assert.deepEqual(await search({ to: '2026-01-31T14:00:00+01:00' }), [a]);
  assert.deepEqual(await search({ userId: 'u1', types: ['user.removed'], from: '2026-01-31T12:00:00Z' }), [c]);
});

test('pages follow each other without gap or repetition, also where times are equal and events are added', async () => {
  for (const asc of [true, false]) {
    await api.deps.pool.query('truncate audit_events');
    const planted = await plant(...Array.from({ length: 7 }, (_, n) => ({ user_id: `u${n}` })));
    const found: string[] = [];
    for (let pageToken: string | undefined, n = 0; pageToken !== ''; n++) {
      assert(n < 4, 'three pages');
      const { body } = await api.call('POST', SEARCH, { pageSize: 3, asc, ...(pageToken ? { pageToken } : {}) });
      found.push(...body.result.map(({ sequence }: Event) => sequence));
      pageToken = body.nextPageToken;
      if (!asc) await plant({ created_at: '2026-02-01T00:00:00Z' });
    }
    assert.deepEqual(found, asc ? planted : planted.reverse());
  }
});

test('an ORG_OWNER gets only events of their organizations; another organization by name is 403', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  await api.deps.pool.query('truncate audit_events');
  const [own, foreign] = await plant({ org_id: org.orgId }, { org_id: other.orgId }, {});
  assert.deepEqual(await search({}, token), [own]);
  assert.deepEqual(await search({ orgId: org.orgId }, token), [own]);
  for (const path of [SEARCH, EXPORT]) {
    for (const orgId of [other.orgId, 'missing']) {
      assert.equal((await api.call('POST', path, { orgId }, { token })).status, 403);
    }
  }
  const exported = await api.call('POST', EXPORT, {}, { token });
  assert.deepEqual([exported.body.trim().split('\n').length, JSON.parse(exported.body).sequence], [1, own]);
  await api.call('POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_OWNER'] }, { orgId: other.orgId });
  assert.deepEqual(await search({ types: ['user.locked'] }, token), [foreign, own]);
});

test('an invalid search names every invalid field', async () => {
  const body = { types: ['user.lockd'], userId: '', address: '203.0.113.0/33', from: 'yesterday', pageSize: 1001 };
  const answer = await api.call('POST', SEARCH, { ...body, pageToken: '1', asc: 'yes' });
  assert.deepEqual([answer.status, errorId(answer)], [400, 'EVENTS-SEARCH']);
  const bad = badFieldsOf(answer);
  assert.deepEqual([...bad].sort(), ['address', 'asc', 'from', 'pageSize', 'pageToken', 'types[0]', 'userId']);
  assert.equal((await api.call('POST', SEARCH, { address: 'fe80::1%eth0' })).status, 400);
  const far = {
    pageToken: '99999999999999-999999999999999999',
    from: '0001-01-01T00:00:00Z',
    to: '9999-12-31T23:59:59Z',
  };
  assert.equal((await api.call('POST', SEARCH, far)).status, 200);
  assert.equal(errorId(await api.call('POST', EXPORT, { format: 'xml' })), 'EVENTS-EXPORT');
});

test('the export has every event once, more than a page, as NDJSON and as CSV', async () => {
  await api.deps.pool.query(
    `insert into audit_events (type, actor_kind, user_agent, org_id, created_at)
    select 'user.locked', 'human', '=1+1', $1, '2026-01-01' from generate_series(1, 2500)`,
    [org.orgId],
  );
  const ndjson = await api.call('POST', EXPORT, { orgId: org.orgId });
  assert.match(ndjson.headers.get('content-type') as string, /^application\/x-ndjson/);
  const lines = ndjson.body
    .trim()
    .split('\n')
    .map((line: string) => JSON.parse(line));
  assert.equal(new Set(lines.map(({ sequence }: Event) => sequence)).size, 2500);
  assert.deepEqual(Object.keys(lines[0]), ['sequence', 'creationDate', 'type', 'actor', 'orgId', 'userAgent', 'count']);
  const csv = await api.call('POST', EXPORT, { orgId: org.orgId, format: 'csv', asc: true });
  assert.equal(csv.headers.get('content-disposition'), 'attachment; filename="events.csv"');
  const records = csv.body.split('\r\n');
  assert.equal(records.length, 2502);
  assert.match(records[1], new RegExp(`^${lines.at(-1).sequence},2026-01-01T.*,'=1\\+1,`));
});

test('a caller has a few searches under way, and the next one is told to wait', async () => {
  const client = await api.deps.pool.connect();
  try {
    await client.query('begin; lock table audit_events in access exclusive mode');
    const waiting = Array.from({ length: 4 }, () => api.call('POST', SEARCH, {}));
    const sql = `select from pg_locks
      where not granted and database = (select oid from pg_database where datname = current_database())`;
    await waitFor(async () => (await client.query(sql)).rowCount === 4, { what: 'four searches that wait' });
    const refused = await api.call('POST', SEARCH, {});
    assert.deepEqual(
      [refused.status, errorId(refused), refused.headers.get('retry-after')],
      [429, 'EVENTS-SLOTS', '1'],
    );
    await client.query('commit');
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.deepEqual(await search({}), []);
  } finally {
    client.release();
  }
});
