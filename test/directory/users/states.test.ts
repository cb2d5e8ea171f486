import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addHuman, eventsOf, humanRow, mailCode, tokenOf } from './people.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

type Change = 'deactivate' | 'reactivate' | 'lock' | 'unlock';
const CHANGES: readonly Change[] = ['deactivate', 'reactivate', 'lock', 'unlock'];
const change = (userId: string, what: Change, options: object = {}) =>
  api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/${what}`, undefined, options);

/** A human who reached the state through the API; INITIAL: by an import without a password. */
async function humanIn(state: string): Promise<string> {
  const userId = await addHuman(api, org.orgId, state === 'initial' ? undefined : 'correct horse');
  if (state === 'initial') await mailCode(api, userId, 'initialise');
  await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
  return userId;
}

/** The allowed transitions of a user; all others are refused. */
const TABLE: Record<string, Partial<Record<Change, string>>> = {
  active: { deactivate: 'inactive', lock: 'locked' },
  initial: { deactivate: 'inactive', lock: 'locked' },
  inactive: { reactivate: 'active' },
  locked: { unlock: 'active', deactivate: 'inactive' },
};

for (const [from, allowed] of Object.entries(TABLE)) {
  for (const what of CHANGES) {
    const to = allowed[what];
    test(`${what} of a user in state ${from}: ${to ?? 'refused'}`, async () => {
      const userId = await humanIn(from);
      const answer = await change(userId, what);
      const row = await humanRow(api, userId);
      if (to === undefined) {
        assert.deepEqual([answer.status, answer.body.code], [400, 9]);
        assert.equal(errorId(answer), `USER-STATE-${from.toUpperCase()}`);
        assert.deepEqual([row.state, await eventsOf(api, userId)], [from, []]);
        return;
      }
      assert.equal(answer.status, 200);
      assert.deepEqual(Object.keys(answer.body), ['details']);
      assert.deepEqual(Object.keys(answer.body.details), ['sequence', 'changeDate', 'resourceOwner']);
      assert.deepEqual([row.state, row.sequence], [to, answer.body.details.sequence]);
      assert.equal(answer.body.details.resourceOwner, org.orgId);
      const read = (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`)).body;
      assert.deepEqual(read.details, answer.body.details);
      assert.equal(read.user.state, `USER_STATE_${to.toUpperCase()}`);
      const past = { deactivate: 'deactivated', reactivate: 'reactivated', lock: 'locked', unlock: 'unlocked' }[what];
      assert.deepEqual(await eventsOf(api, userId), [`user.${past}`]);
    });
  }
}

test('a user stopped before the first password must still set it, unless they have got one since', async () => {
  for (const [stop, go] of [
    ['lock', 'unlock'],
    ['deactivate', 'reactivate'],
  ] as const) {
    const userId = await humanIn('initial');
    await change(userId, stop);
    await change(userId, go);
    assert.equal((await humanRow(api, userId)).state, 'initial');
    await change(userId, stop);
    const newPassword = { password: 'correct horse' };
    const path = `/v2beta/users/${encodeURIComponent(userId)}/password`;
    assert.equal((await api.call('POST', path, { newPassword })).status, 200);
    await change(userId, go);
    assert.equal((await humanRow(api, userId)).state, 'active');
  }
});

test('of many parallel calls of the same change, one succeeds', async () => {
  const userId = await humanIn('active');
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => change(userId, 'lock')));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 400, 400, 400, 400]);
  assert.deepEqual(await eventsOf(api, userId), ['user.locked']);
});

test('a stopped user loses access at once; sessions and grants do not come back', async () => {
  const { pool } = api.deps;
  for (const [stop, go, state] of [
    ['lock', 'unlock', 'LOCKED'],
    ['deactivate', 'reactivate', 'INACTIVE'],
  ] as const) {
    const userId = await humanIn('active');
    const token = await tokenOf(api, userId);
    const self = () => api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`, undefined, { token });
    const checks = { user: { userId }, password: { password: 'correct horse' } };
    const logIn = () => api.call('POST', '/v2beta/sessions', { checks });
    const { sessionId } = (await logIn()).body;
    const session = async () => (await api.call('GET', `/v2beta/sessions/${sessionId}`)).status;
    const grants = async () => (await pool.query('select from oauth_models where user_id = $1', [userId])).rowCount;
    await pool.query(
      `insert into oauth_models (id_hash, kind, user_id, payload, expires_at)
       values (sha256(convert_to($1, 'UTF8')), 'Grant', $1, '{}', now() + interval '1 hour')`,
      [userId],
    );
    assert.deepEqual([(await self()).status, await session(), await grants()], [200, 200, 2]);

    assert.equal((await change(userId, stop)).status, 200);
    assert.deepEqual([(await self()).status, await session(), await grants()], [401, 404, 0]);
    assert.equal(errorId(await logIn()), `SESSION-USER-${state}`);

    assert.equal((await change(userId, go)).status, 200);
    assert.equal(await session(), 404);
    assert.equal((await logIn()).status, 201);
  }
});

test('machine users have the same states', async () => {
  const { userId, token } = await api.machine(org.orgId, ['ORG_OWNER']);
  const get = async () => (await api.call('GET', '/management/v1/orgs/me', undefined, { token })).status;
  assert.equal((await change(userId, 'deactivate')).status, 200);
  assert.equal(await get(), 401);
  assert.equal((await change(userId, 'reactivate')).status, 200);
  assert.equal(await get(), 200, 'personal access tokens are suspended, not lost');
});

test('the last active IAM_OWNER can be neither stopped nor deleted, not even by themselves', async () => {
  const me = (await api.deps.pool.query('select user_id as id from instance_members')).rows[0].id;
  const boss = await api.machine(org.orgId);
  await api.call('POST', '/admin/v1/members', { userId: boss.userId, roles: ['IAM_OWNER'] });
  assert.equal((await change(boss.userId, 'deactivate')).status, 200);
  const refused = [
    await change(me, 'deactivate'),
    await change(me, 'lock'),
    await api.call('DELETE', `/v2beta/users/${me}`),
    await api.call('DELETE', `/admin/v1/members/${me}`),
  ];
  for (const answer of refused) {
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 9, 'MEMBER-LAST-OWNER']);
  }
  assert.equal((await change(boss.userId, 'reactivate')).status, 200);
  assert.equal((await change(me, 'lock', { token: boss.token })).status, 200);
  assert.equal((await change(me, 'unlock', { token: boss.token })).status, 200);
});

test('when the last two IAM_OWNERs lock each other at once, one stays active', async () => {
  const { pool } = api.deps;
  const [one, two] = [await api.machine(org.orgId), await api.machine(org.orgId)];
  for (const { userId } of [one, two]) {
    await api.call('POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
  }
  const owners = 'from instance_members m where m.user_id = u.id';
  await pool.query(`update users u set state = 'inactive' ${owners} and u.id <> all($1)`, [[one.userId, two.userId]]);
  const answers = await Promise.all([
    change(two.userId, 'lock', { token: one.token }),
    change(one.userId, 'lock', { token: two.token }),
  ]);
  const [won, lost] = answers.map((a) => a.status).sort();
  assert.equal(won, 200);
  assert.ok(lost === 400 || lost === 401, `refused as the last one, or its own token is dead: ${lost}`);
  const { rowCount } = await pool.query(`select ${owners.replace('from', 'from users u,')} and u.state = 'active'`);
  assert.equal(rowCount, 1);
  await pool.query(`update users u set state = 'active' ${owners}`);
});

test('owners and user managers change states, but not of users with more rights', async () => {
  const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const viewer = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  const outsider = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  const userId = await humanIn('active');
  const self = { token: await tokenOf(api, userId) };
  const remove = (id: string, options: object) =>
    api.call('DELETE', `/v2beta/users/${encodeURIComponent(id)}`, undefined, options);

  for (const what of CHANGES) {
    for (const { token } of [viewer, outsider, self]) {
      assert.equal((await change(userId, what, { token })).status, 403);
      assert.equal((await change('missing', what, { token })).status, 403);
    }
    assert.equal((await change('missing', what)).status, 404);
    assert.equal((await change(userId, what, { token: null })).status, 401);
    const lesser = await change(owner.userId, what, manager);
    assert.deepEqual([lesser.status, errorId(lesser)], [403, 'AUTH-PERMISSION']);
  }
  assert.equal((await remove(owner.userId, manager)).status, 403, 'a manager with fewer rights cannot delete either');
  assert.equal((await change(userId, 'lock', manager)).status, 200);
  assert.equal((await change(userId, 'unlock', owner)).status, 200);
  assert.equal((await change(manager.userId, 'deactivate', owner)).status, 200);
  assert.equal((await remove(userId, owner)).status, 200);
});
