/** Concurrent calls about one user: the effect of each one remains, and there is no deadlock. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { enqueueMail } from '../../../src/messages/mail/outbox.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { addHuman, humanRow } from './people.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const PASSWORD = 'correct horse';
const path = (id: string) => `/v2beta/users/${encodeURIComponent(id)}`;
const human = () => addHuman(api, org.orgId, PASSWORD);
const makeOwner = (userId: string) => api.call('POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
const logIn = (userId: string, password = PASSWORD) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } });
const rename = (userId: string, change: object) =>
  api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, { username: unique('n'), ...change });

/** Adds an import with unsent mails to these users. */
async function importOf(...userIds: string[]): Promise<string> {
  const { rows } = await api.deps.pool.query(
    `insert into imports (kind, state, created_by, resource_owner, mails_due, total)
     values ('bulk', 'running', 'x', 'instance', $1, $1) returning id`,
    [userIds.length],
  );
  for (const userId of userIds) {
    const mail = { kind: 'initialise' as const, userId, codeTtlMs: 60_000 };
    const { outboxId } = await enqueueMail(api.deps.pool, mail);
    await api.deps.pool.query('update mail_outbox set import_id = $2 where id = $1', [outboxId, rows[0].id]);
  }
  return rows[0].id;
}

test('an IAM_OWNER and a user of one import are deleted at once', async () => {
  const { pool } = api.deps;
  const [owner, other] = [await human(), await human()];
  await makeOwner(owner);
  const importId = await importOf(owner, other);
  const held = await hold(pool, 'lock table instance_members in share row exclusive mode');
  const first = api.call('DELETE', path(owner));
  await waiters(pool, 1);
  const second = api.call('DELETE', path(other));
  await waiters(pool, 2);
  await held.commit();
  assert.deepEqual([(await first).status, (await second).status], [200, 200]);
  assert.equal((await pool.query('select mails_due from imports where id = $1', [importId])).rows[0].mails_due, 0);
});

test('a user is renamed and gets a password while its import writes another one of that name', async () => {
  const { pool } = api.deps;
  const userId = await human();
  const importId = await importOf(userId);
  const username = unique('wanted');
  const batch = await hold(
    pool,
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
     values ($1, $2, 'human', 'active', $1, $1, 'a@b', 'a@b', 1)`,
    [username, org.orgId],
  );
  const change = rename(userId, { username, password: { password: { password: 'another horse' } } });
  await waiters(pool, 1);
  await batch.db.query('select from imports where id = $1 for update', [importId]);
  await batch.commit();
  const answer = await change;
  assert.deepEqual([answer.status, errorId(answer)], [409, 'USER-NAME-TAKEN']);
  assert.equal((await logIn(userId)).status, 201, 'the password did not change either');
});

test('a manager cannot set the password of a user who becomes an owner during the call', async () => {
  const userId = await human();
  const { token } = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  const { password_hash: hash } = await humanRow(api, userId);
  const promotion = await hold(api.deps.pool, 'select from users where id = $1 for key share', [userId]);
  await promotion.db.query(
    `insert into org_members (org_id, user_id, roles, sequence) values ($1, $2, '{ORG_OWNER}', 1)`,
    [org.orgId, userId],
  );
  const set = api.call('POST', `${path(userId)}/password`, { newPassword: { password: 'my horse' } }, { token });
  await waiters(api.deps.pool, 1);
  await promotion.commit();
  const answer = await set;
  assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
  assert.equal((await humanRow(api, userId)).password_hash, hash);
});

test('a password that is replaced during its check gives no session', async () => {
  const userId = await human();
  const change = await hold(api.deps.pool, 'select from users where id = $1 for update', [userId]);
  const login = logIn(userId);
  await waiters(api.deps.pool, 1);
  await change.db.query('update users set password_changed_at = now() where id = $1', [userId]);
  await change.commit();
  const answer = await login;
  assert.deepEqual([answer.status, errorId(answer)], [400, 'SESSION-CREDENTIALS']);
  assert.equal((await api.deps.pool.query('select from sessions where user_id = $1', [userId])).rowCount, 0);
});

/** All calls that change a user or their roles, or check their password or a code. */
const CALLS: readonly ((userId: string) => Promise<Answer>)[] = [
  ...['deactivate', 'reactivate', 'lock', 'unlock'].map(
    (name) => (u: string) => api.call('POST', `${path(u)}/${name}`),
  ),
  makeOwner,
  (u) => api.call('DELETE', `/admin/v1/members/${encodeURIComponent(u)}`),
  (u) => api.call('POST', '/management/v1/orgs/me/members', { userId: u, roles: ['ORG_OWNER'] }, org),
  (u) => api.call('DELETE', `/management/v1/orgs/me/members/${encodeURIComponent(u)}`, undefined, org),
  (u) => logIn(u),
  (u) => logIn(u, 'wrong'),
  (u) => rename(u, { email: { email: 'a@b' }, password: { password: { password: PASSWORD } } }),
  (u) => api.call('POST', `${path(u)}/password`, { newPassword: { password: PASSWORD } }),
  (u) => api.call('POST', `${path(u)}/password`, { newPassword: { password: PASSWORD }, verificationCode: 'x' }),
  (u) => api.call('POST', `${path(u)}/password_reset`, { returnCode: {} }),
  (u) => api.call('POST', `${path(u)}/email`, { email: 'x@y', sendCode: {} }),
  (u) => api.call('POST', `${path(u)}/email/verify`, { verificationCode: 'x' }),
  (u) => api.call('POST', `${path(u)}/totp`),
  (u) => api.call('DELETE', `${path(u)}/totp`),
];

test('all concurrent calls are answered, and each user shows their last event', async () => {
  const users = [await human(), await human()];
  await importOf(...users);
  const rounds = Array.from({ length: 4 }, (_, i) => [...CALLS.slice(i * 5), ...CALLS.slice(0, i * 5)]);
  for (const round of rounds) {
    const answers = await Promise.all(round.flatMap((call) => users.map((user) => call(user))));
    const refused = answers.filter((a) => a.status > 409).map((a) => [a.status, a.body]);
    assert.deepEqual(refused, []);
  }
  const { rows } = await api.deps.pool.query(
    `select u.id from users u where u.id = any($1) and u.sequence is distinct from (select max(e.sequence) from events e
       where e.aggregate_type = 'user' and e.aggregate_id = u.id and e.type not like 'user.session.%')`,
    [users],
  );
  assert.deepEqual(rows, []);
  const deletes = await Promise.all([...users, ...users].map((user) => api.call('DELETE', path(user))));
  assert.deepEqual(deletes.map((a) => a.status).sort(), [200, 200, 404, 404]);
});
