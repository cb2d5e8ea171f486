/** The password-age policy of an organization and of the instance. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { badFieldsOf, errorId, startApi, type TestApi } from '../support/api.ts';
import { hold, waiters } from '../support/stores/locks.ts';

const OF_ORG = '/management/v1/policies/password/age';
const DEFAULT = '/management/v1/policies/default/password/age';
const OF_INSTANCE = '/admin/v1/policies/password/age';

describe('the password-age policy', () => {
  let api: TestApi;
  let orgId: string;
  let owner: string;
  before(async () => {
    api = await startApi();
  });
  beforeEach(async () => {
    ({ orgId } = await api.setupOrg());
    owner = (await api.machine(orgId, ['ORG_OWNER'])).token;
  });
  afterEach(() => api.call('PUT', OF_INSTANCE, { maxAgeDays: 0 }));
  after(() => api.stop());

  const call = (method: string, path: string, body?: unknown, token = owner) => api.call(method, path, body, { token });
  const events = async () =>
    (
      await api.deps.pool.query(
        `select type, payload, sequence, resource_owner, created_at from events
         where aggregate_id = $1 and type like '%policy%' order by events.sequence`,
        [orgId],
      )
    ).rows;
  const policy = async () => (await call('GET', OF_ORG)).body.policy;

  it('is the instance’s until the organization has its own', async () => {
    const { status, body } = await call('GET', OF_ORG);
    assert.equal(status, 200);
    const { details, ...rest } = body.policy;
    assert.deepEqual(rest, { maxAgeDays: 0, expireWarnDays: 0, isDefault: true });
    assert.deepEqual(Object.keys(details).sort(), ['changeDate', 'creationDate', 'resourceOwner', 'sequence']);
    assert.equal(details.resourceOwner, 'instance');
    for (const path of [DEFAULT, OF_ORG]) assert.deepEqual((await call('GET', path)).body, body);
    assert.deepEqual((await api.call('GET', OF_INSTANCE)).body, body);
  });

  it('is added, changed and reset, each with its event', async () => {
    const added = await call('POST', OF_ORG, { maxAgeDays: 90, expireWarnDays: 14 });
    assert.equal(added.status, 200);
    const stored = await policy();
    assert.deepEqual(stored, { details: added.body.details, maxAgeDays: 90, expireWarnDays: 14, isDefault: false });

    const changed = await call('PUT', OF_ORG, { maxAgeDays: 60, expireWarnDays: 7 });
    assert.equal(changed.status, 200);
    assert.deepEqual(await policy(), { ...stored, details: changed.body.details, maxAgeDays: 60, expireWarnDays: 7 });
    assert.equal(changed.body.details.creationDate, added.body.details.creationDate);

    const reset = await call('DELETE', OF_ORG);
    assert.equal(reset.status, 200);
    assert.equal((await policy()).isDefault, true);

    const all = await events();
    assert.deepEqual(
      all.map((e) => [e.type, e.payload]),
      [
        ['organization.policy.password.age.added', { maxAgeDays: 90, expireWarnDays: 14 }],
        ['organization.policy.password.age.changed', { maxAgeDays: 60, expireWarnDays: 7 }],
        ['organization.policy.password.age.reset', null],
      ],
    );
    assert.deepEqual(
      [added, changed, reset].map((a) => a.body.details.sequence),
      all.map((e) => e.sequence),
    );
    const at = all[2].created_at.toISOString();
    const expected = { sequence: all[2].sequence, creationDate: at, changeDate: at, resourceOwner: orgId };
    assert.deepEqual(reset.body, { details: expected });
  });

  it('shows the last event after concurrent changes', async () => {
    await call('POST', OF_ORG, { maxAgeDays: 10 });
    const row = [orgId];
    const other = await hold(api.deps.pool, 'select from password_age_policies where org_id = $1 for update', row);
    const change = call('PUT', OF_ORG, { maxAgeDays: 20 });
    await waiters(api.deps.pool, 1);
    const { rows } = await other.db.query(
      `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor)
       values ('organization', $1, $1, 'organization.policy.password.age.changed', 'x') returning sequence`,
      row,
    );
    await other.commit();
    assert.equal((await change).status, 200);
    const { details, maxAgeDays } = await policy();
    assert.equal(maxAgeDays, 20);
    assert(BigInt(details.sequence) > BigInt(rows[0].sequence), 'the later change has the later event');
  });

  it('can be reset repeatedly, even without an own policy', async () => {
    const first = await call('DELETE', OF_ORG);
    const second = await call('DELETE', OF_ORG);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert(BigInt(second.body.details.sequence) > BigInt(first.body.details.sequence));
    assert.equal((await policy()).isDefault, true);
  });

  it('cannot be added twice, nor changed before it exists', async () => {
    const missing = await call('PUT', OF_ORG, { maxAgeDays: 1 });
    assert.deepEqual([missing.status, missing.body.code, errorId(missing)], [404, 5, 'POLICY-AGE-NOT-FOUND']);
    const answers = await Promise.all([1, 2, 3].map((maxAgeDays) => call('POST', OF_ORG, { maxAgeDays })));
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409]);
    const twice = await call('POST', OF_ORG, { maxAgeDays: 5 });
    assert.deepEqual([twice.status, twice.body.code, errorId(twice)], [409, 6, 'POLICY-AGE-EXISTS']);
    assert.equal((await events()).length, 1);
  });

  it('accepts days as numbers and as digits, in camel and snake case, and zero for off', async () => {
    for (const [body, days, warn] of [
      [{ maxAgeDays: '365', expireWarnDays: '10' }, 365, 10],
      [{ max_age_days: 36500, expire_warn_days: 36500 }, 36500, 36500],
      [{ maxAgeDays: 0, expireWarnDays: 10 }, 0, 10],
      [{ maxAgeDays: 7 }, 7, 0],
    ] as const) {
      assert.equal((await call('POST', OF_ORG, body)).status, 200);
      const { maxAgeDays, expireWarnDays } = await policy();
      assert.deepEqual([maxAgeDays, expireWarnDays], [days, warn]);
      await call('DELETE', OF_ORG);
    }
  });

  it('names every invalid field', async () => {
    for (const [body, fields] of [
      [{}, ['maxAgeDays']],
      [{ maxAgeDays: -1, expireWarnDays: 36501 }, ['expireWarnDays', 'maxAgeDays']],
      [{ maxAgeDays: 1.5, expireWarnDays: '1.5' }, ['expireWarnDays', 'maxAgeDays']],
      [{ maxAgeDays: '99999', expireWarnDays: '' }, ['expireWarnDays', 'maxAgeDays']],
      [{ maxAgeDays: true, expireWarnDays: [] }, ['expireWarnDays', 'maxAgeDays']],
      [{ maxAgeDays: 10, expireWarnDays: 11 }, ['expireWarnDays']],
    ] as const) {
      for (const [method, path, token] of [
        ['POST', OF_ORG, owner],
        ['PUT', OF_ORG, owner],
        ['PUT', OF_INSTANCE, api.token],
      ] as const) {
        const answer = await call(method, path, body, token);
        assert.deepEqual([answer.status, badFieldsOf(answer)], [400, fields], `${method} ${JSON.stringify(body)}`);
      }
    }
    assert.deepEqual(await events(), []);
  });

  it('of the instance can be changed only by an IAM_OWNER, and applies where there is no other', async () => {
    await call('POST', OF_ORG, { maxAgeDays: 30 });
    const changed = await api.call('PUT', OF_INSTANCE, { maxAgeDays: 365, expireWarnDays: 30 });
    assert.deepEqual([changed.status, changed.body.details.resourceOwner], [200, 'instance']);
    const { body } = await call('GET', DEFAULT);
    const expected = { details: changed.body.details, maxAgeDays: 365, expireWarnDays: 30, isDefault: true };
    assert.deepEqual(body.policy, expected);
    assert.equal((await policy()).maxAgeDays, 30);
    await call('DELETE', OF_ORG);
    assert.deepEqual(await policy(), expected);
    for (const [method, policyBody] of [['GET'], ['PUT', { maxAgeDays: 1 }]] as const) {
      assert.equal((await call(method, OF_INSTANCE, policyBody)).status, 403);
    }
  });

  it('is readable by any role and writable by an owner, checked before the body is read', async () => {
    for (const role of ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']) {
      const { token } = await api.machine(orgId, [role]);
      assert.equal((await call('GET', OF_ORG, undefined, token)).status, 200);
      assert.equal((await call('GET', DEFAULT, undefined, token)).status, 200);
      for (const method of ['POST', 'PUT']) assert.equal((await call(method, OF_ORG, '{', token)).status, 403);
      assert.equal((await call('DELETE', OF_ORG, undefined, token)).status, 403);
    }
    const { token: nobody } = await api.machine(orgId);
    for (const path of [OF_ORG, DEFAULT]) assert.equal((await call('GET', path, undefined, nobody)).status, 403);
    assert.equal((await api.call('GET', OF_ORG, undefined, { token: null })).status, 401);
  });

  it('is the one of the organization that the header names', async () => {
    const other = await api.setupOrg();
    for (const header of ['x-service-orgid', 'x-zitadel-orgid']) {
      const headers = { [header]: other.orgId };
      assert.equal((await api.call('POST', OF_ORG, { maxAgeDays: 3 }, { headers })).status, 200);
      assert.equal((await api.call('GET', OF_ORG, undefined, { headers })).body.policy.maxAgeDays, 3);
      assert.equal((await api.call('GET', OF_ORG, undefined, { headers, token: owner })).status, 403);
      const reset = await api.call('DELETE', OF_ORG, undefined, { headers });
      assert.equal(reset.body.details.resourceOwner, other.orgId);
    }
    for (const [method, body] of [
      ['GET'],
      ['POST', { maxAgeDays: 1 }],
      ['PUT', { maxAgeDays: 1 }],
      ['DELETE'],
    ] as const) {
      const missing = { orgId: 'missing' };
      assert.equal((await api.call(method, OF_ORG, body, missing)).status, 404);
      assert.equal((await api.call(method, OF_ORG, body, { ...missing, token: owner })).status, 403);
    }
  });
});
