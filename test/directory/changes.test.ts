import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { pino } from 'pino';
import { fastPathItem } from '../../src/imports/entries/fast-path.ts';
import { plainAddress } from '../../src/platform/text/names.ts';
import { badFieldsOf, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';

let api: TestApi;
let org: SetUp;
const lines: Record<string, unknown>[] = [];
before(async () => {
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  api = await startApi({ logger, env: { TRUST_PROXY: '1', SINGLE_IMPORT_TIMEOUT_MS: '50' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const FROM = { 'x-forwarded-for': '203.0.113.7', 'user-agent': `tool/1 ${'x'.repeat(300)}` };

async function eventsOf(requestId: string): Promise<Record<string, unknown>[]> {
  const { rows } = await api.deps.pool.query(
    'select *, host(address) as address from audit_events where request_id = $1 order by sequence',
    [requestId],
  );
  return rows;
}

test('a change writes one audit event: who, whom, from where, with the sequence of the response', async () => {
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const headers = { ...FROM, 'x-request-id': 'lock-1' };
  const { body } = await api.call('POST', `/v2beta/users/${org.userId}/lock`, {}, { token: owner.token, headers });
  const [event, ...more] = await eventsOf('lock-1');
  assert.deepEqual(more, []);
  assert.equal(event?.sequence, body.details.sequence);
  assert.equal(event?.type, 'user.locked');
  assert.deepEqual([event?.actor_kind, event?.actor_id], ['machine', owner.userId]);
  assert.deepEqual([event?.user_id, event?.org_id], [org.userId, org.orgId]);
  assert.equal(event?.address, '203.0.113.7');
  assert.equal(event?.user_agent, FROM['user-agent'].slice(0, 200));
  await api.call('POST', `/v2beta/users/${org.userId}/unlock`, {});
});

test('a change that is refused or rolled back writes none', async () => {
  const headers = { 'x-request-id': 'refused-1' };
  assert.equal((await api.call('POST', `/v2beta/users/${org.userId}/reactivate`, {}, { headers })).status, 400);
  const taken = { userName: org.userName, name: 'Taken', userId: org.userId };
  assert.equal((await api.call('POST', '/management/v1/users/machine', taken, { headers })).status, 409);
  assert.deepEqual(await eventsOf('refused-1'), []);
});

test('requests at the same time keep their own context', async () => {
  const ids = Array.from({ length: 8 }, (_, n) => `at-once-${n}`);
  await Promise.all(
    ids.map((id) => {
      const body = { userName: unique('bot'), name: id };
      const headers = { 'x-request-id': id, 'user-agent': id, 'x-forwarded-for': `203.0.113.${id.at(-1)}` };
      return api.call('POST', '/management/v1/users/machine', body, { orgId: org.orgId, headers });
    }),
  );
  for (const id of ids) {
    const [event] = await eventsOf(id);
    assert.deepEqual([event?.user_agent, event?.address], [id, `203.0.113.${id.at(-1)}`]);
  }
});

test('a membership names the user who became a member, and a client its id', async () => {
  const { userId } = await api.machine(org.orgId);
  const headers = { 'x-request-id': 'member-1' };
  const member = { userId, roles: ['ORG_OWNER_VIEWER'] };
  await api.call('POST', '/management/v1/orgs/me/members', member, { orgId: org.orgId, headers });
  const client = { name: 'Shop', redirectUris: ['https://shop.example/cb'], grantTypes: ['authorization_code'] };
  const { body } = await api.call('POST', '/admin/v1/clients', { ...client, authMethod: 'none' }, { headers });
  const [added, registered] = await eventsOf('member-1');
  assert.deepEqual([added?.type, added?.user_id], ['organization.member.added', userId]);
  assert.deepEqual([registered?.object_type, registered?.object_id], ['client', body.clientId]);
  assert.equal(registered?.org_id, null);
});

test('the import of one user is recorded when it is accepted', async () => {
  const user = { userId: unique('imported'), userName: unique('eve'), profile: { firstName: 'Eve', lastName: 'E' } };
  const email = { email: 'eve@example.com', isEmailVerified: true };
  const headers = { 'x-request-id': 'single-1' };
  const options = { orgId: org.orgId, headers };
  const { status } = await api.call('POST', '/management/v1/users/human/_import', { ...user, email }, options);
  assert.equal(status, 504, 'no worker runs');
  const [event, ...more] = await eventsOf('single-1');
  assert.deepEqual(more, []);
  assert.deepEqual([event?.type, event?.org_id], ['import.single.accepted', org.orgId]);
});

test('a new user cannot have the id of the system', async () => {
  for (const userId of ['system', 'System', ' SYSTEM ', 'ｓystem']) {
    const machine = { userName: unique('bot'), name: 'Bot', userId };
    const profile = { givenName: 'A', familyName: 'B' };
    const human = {
      userId,
      username: unique('ann'),
      organization: { orgId: org.orgId },
      profile,
      email: { email: 'a@b' },
    };
    for (const answer of [
      await api.call('POST', '/management/v1/users/machine', machine, { orgId: org.orgId }),
      await api.call('POST', '/v2beta/users/human', human),
    ]) {
      assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['userId']], userId);
    }
    const user = { userName: unique('ann'), profile: { firstName: 'A', lastName: 'B' }, email: { email: 'a@b' } };
    assert.equal(fastPathItem({ userId, user }, true), undefined);
  }
});

test('an older user whose id is "system" is not shown as the system', async () => {
  const { pool } = api.deps;
  await pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, machine_name, access_token_type, sequence)
     select 'system', org_id, kind, state, 'system', 'system', 'System', access_token_type, sequence
     from users where kind = 'machine' and org_id = $1 limit 1`,
    [(await api.machine(org.orgId)) && org.orgId],
  );
  const { token } = (await api.call('POST', '/management/v1/users/system/pats', {})).body;
  const grant = { userId: 'system', roles: ['ORG_OWNER'] };
  await api.call('POST', '/management/v1/orgs/me/members', grant, { orgId: org.orgId });
  const headers = { 'x-request-id': 'system-1' };
  const bot = { userName: unique('bot'), name: 'Bot' };
  assert.equal((await api.call('POST', '/management/v1/users/machine', bot, { token, headers })).status, 200);
  const [event] = await eventsOf('system-1');
  assert.deepEqual([event?.actor_kind, event?.actor_id], ['machine', 'system']);
  const bootstrap = await pool.query(`select distinct actor_id from audit_events where actor_kind = 'system'`);
  assert.deepEqual(bootstrap.rows, [{ actor_id: null }]);
});

test('the access log names the caller, and nobody without a valid token', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  await api.call('GET', '/admin/v1/clients', undefined, { token, headers: { 'x-request-id': 'log-1' } });
  await api.call('GET', '/admin/v1/clients', undefined, { token: 'wrong', headers: { 'x-request-id': 'log-2' } });
  const line = (id: string) => lines.find((l) => l.msg === 'request' && l.requestId === id);
  assert.deepEqual([line('log-1')?.status, line('log-1')?.userId], [403, userId]);
  assert.deepEqual([line('log-2')?.status, line('log-2')?.userId], [401, undefined]);
  assert(!JSON.stringify(lines).includes(token));
});

test('addresses are stored in one form', () => {
  assert.equal(plainAddress('::ffff:203.0.113.7'), '203.0.113.7');
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1');
  assert.equal(plainAddress('2001:db8::1'), '2001:db8::1');
  assert.equal(plainAddress('203.0.113.7:443'), undefined);
  assert.equal(plainAddress('unknown'), undefined);
  assert.equal(plainAddress(undefined), undefined);
});
