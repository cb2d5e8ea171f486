import assert from 'node:assert/strict';
import test, { after, before, beforeEach } from 'node:test';
import { addClient, hiddenOf, visitor } from '../signin/pages/visitor.ts';
import { errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', LOCK_AFTER_FAILURES: '5' } });
  org = await api.setupOrg();
});
after(() => api.stop());
beforeEach(() => api.deps.pool.query('truncate audit_events; delete from login_delays'));

const signIn = (user: object, password = 'correct horse', totp?: { code: string }) =>
  api.call('POST', '/v2beta/sessions', { checks: { user, password: { password }, totp } });
type Event = Record<string, unknown> & { type: string; payload: Record<string, unknown>; count: number };

async function signIns(): Promise<Event[]> {
  const body = { types: ['user.signin.succeeded', 'user.signin.failed', 'user.signin.locked'], asc: true };
  const { result } = (await api.call('POST', '/admin/v1/events/_search', body)).body;
  assert(!/horse|password-typed/.test(JSON.stringify(result)), 'no password is recorded');
  return result;
}
const reasons = async () => (await signIns()).map(({ payload }) => payload.reason);
/** A minute may end during a test; equal failures then have two rows. */
const counts = (events: Event[]) => events.reduce((sum, { count }) => sum + count, 0);

test('a sign-in is recorded with user, organization, address and methods; its actor is the calling program', async () => {
  const program = await api.machine(org.orgId, ['ORG_OWNER']);
  const checks = { user: { userId: org.userId }, password: { password: 'correct horse' } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks }, { token: program.token })).status, 201);
  const [event, ...more] = await signIns();
  assert.deepEqual([event?.type, more], ['user.signin.succeeded', []]);
  assert.deepEqual([event?.actor, event?.userId], [{ kind: 'machine', id: program.userId }, org.userId]);
  assert.deepEqual([event?.orgId, event?.address, event?.payload], [org.orgId, '127.0.0.1', { amr: ['pwd'] }]);
});

test('a wrong password is recorded once a minute with a count, and names the user', async () => {
  for (let n = 0; n < 3; n++) await signIn({ userId: org.userId }, 'password-typed');
  const events = await signIns();
  assert.equal(counts(events), 3);
  assert(events.length <= 2);
  const [event] = events;
  assert.deepEqual(
    [event?.userId, event?.orgId, event?.payload],
    [org.userId, org.orgId, { reason: 'wrong_password' }],
  );
});

test('an unknown name is recorded as it was typed, and a user without a password by id', async () => {
  await signIn({ loginName: 'Nobody@acme' }, 'password-typed');
  const { userId } = await api.machine(org.orgId);
  await signIn({ userId }, 'password-typed');
  const [unknown, machine] = await signIns();
  assert.deepEqual(unknown?.payload, { reason: 'unknown_user', loginName: 'Nobody@acme' });
  assert.deepEqual([unknown?.userId, unknown?.orgId], [undefined, undefined]);
  assert.deepEqual([machine?.userId, machine?.payload], [userId, { reason: 'no_password' }]);
});

test('too many failures are recorded as a lock, and further attempts as refused', async () => {
  for (let n = 0; n < 5; n++) await signIn({ userId: org.userId }, 'password-typed');
  assert.equal(errorId(await signIn({ userId: org.userId })), 'SESSION-FAILURES');
  const events = await signIns();
  assert.deepEqual(
    events.filter(({ type }) => type === 'user.signin.locked').map(({ userId, orgId }) => [userId, orgId]),
    [[org.userId, org.orgId]],
  );
  assert.equal(events.at(-1)?.payload.reason, 'locked_for_a_time');
});

test('a right password that is not enough is recorded with the reason', async () => {
  const other = await api.setupOrg();
  const user = { userId: other.userId };
  for (const [change, back, reason] of [
    ['lock', 'unlock', 'user_locked'],
    ['deactivate', 'reactivate', 'user_inactive'],
  ]) {
    await api.call('POST', `/v2beta/users/${other.userId}/${change}`, {});
    assert.equal((await signIn(user)).status, 400);
    await api.call('POST', `/v2beta/users/${other.userId}/${back}`, {});
    assert.equal((await reasons()).at(-1), reason);
  }
  const { secret } = (await api.call('POST', `/v2beta/users/${other.userId}/totp`, {})).body;
  await api.call('POST', `/v2beta/users/${other.userId}/totp/verify`, { code: codeAt(secret) });
  await api.deps.pool.query('truncate audit_events');
  assert.equal(errorId(await signIn(user)), 'SESSION-TOTP-REQUIRED');
  assert.deepEqual(await signIns(), [], 'the code is still to come');
  await signIn(user, 'correct horse', { code: wrongCode(secret) });
  assert.deepEqual(await reasons(), ['wrong_code']);
});

test('a sign-in on the login page names the client that sent the user', async () => {
  const clientId = await addClient(api);
  const browser = visitor(api);
  const path = await browser.begin(clientId);
  const fields = hiddenOf(await browser.get(path), 'password');
  const send = (password: string) => browser.post(path, { ...fields, loginName: org.userName, password });
  await send('password-typed');
  await send('correct horse');
  const [failed, succeeded] = await signIns();
  assert.deepEqual([failed?.clientId, failed?.actor, failed?.userId], [clientId, { kind: 'anonymous' }, org.userId]);
  assert.deepEqual([succeeded?.type, succeeded?.clientId], ['user.signin.succeeded', clientId]);
  assert.deepEqual([succeeded?.actor, succeeded?.orgId], [{ kind: 'human', id: org.userId }, org.orgId]);
});
