import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { revokeSessions } from '../../src/directory/revocation.ts';
import { putRecovery } from '../../src/directory/users/second-factors.ts';
import type { Hasher } from '../../src/passwords/hasher.ts';
import { newRecoveryCodes, RECOVERY_PURPOSE } from '../../src/passwords/recovery-codes.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { findLogin } from '../../src/signin/login/store.ts';
import { addSession } from '../../src/signin/sessions.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
let work: string[] = [];
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
  const { verify, verifyNothing } = api.deps.hasher;
  const counted: Pick<Hasher, 'verify' | 'verifyNothing'> = {
    verify(encoded, plain) {
      work.push('verify');
      return verify(encoded, plain);
    },
    verifyNothing(plain) {
      work.push('nothing');
      return verifyNothing(plain);
    },
  };
  Object.assign(api.deps.hasher, counted);
});
after(() => api.stop());

const SESSIONS = '/v2beta/sessions';
const login = (user: object, password = 'correct horse', options = {}) =>
  api.call('POST', SESSIONS, { checks: { user, password: { password } } }, options);
const loginNamesOf = async (userId: string): Promise<string[]> =>
  (await api.call('GET', `/v2beta/users/${userId}`)).body.user.loginNames;

test('a right password creates a session; its token is not a bearer token', async () => {
  const [full, bare] = await loginNamesOf(org.userId);
  for (const user of [
    { userId: org.userId },
    { loginName: full },
    { loginName: bare },
    { loginName: full?.toUpperCase() },
  ]) {
    const { status, body } = await login(user);
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body).sort(), ['details', 'sessionId', 'sessionToken']);
    assert.equal(body.details.resourceOwner, org.orgId);
    assert.equal(
      (await api.call('GET', `/v2beta/users/${org.userId}`, undefined, { token: body.sessionToken })).status,
      401,
    );
    const { rows } = await api.deps.pool.query('select * from sessions where id = $1', [body.sessionId]);
    assert(!JSON.stringify(rows).includes(body.sessionToken));
  }
});

test('a session is read and deleted', async () => {
  const { sessionId } = (await login({ userId: org.userId })).body;
  const { session } = (await api.call('GET', `${SESSIONS}/${sessionId}`)).body;
  assert.equal(session.id, sessionId);
  assert.equal(session.factors.user.id, org.userId);
  assert.equal(session.factors.user.organizationId, org.orgId);
  assert.equal(session.factors.user.loginName, (await loginNamesOf(org.userId))[0]);
  const outsider = await api.machine(other.orgId, ['ORG_OWNER']);
  for (const method of ['GET', 'DELETE']) {
    for (const id of [sessionId, 'missing']) {
      assert.equal((await api.call(method, `${SESSIONS}/${id}`, undefined, { token: outsider.token })).status, 403);
    }
    assert.equal((await api.call(method, `${SESSIONS}/missing`)).status, 404);
  }
  assert.equal((await api.call('DELETE', `${SESSIONS}/${sessionId}`)).status, 200);
  assert.equal((await api.call('GET', `${SESSIONS}/${sessionId}`)).status, 404);
});

test('a session ends after SESSION_TTL_DAYS, removed or not', async () => {
  const { sessionId } = (await login({ userId: org.userId })).body;
  const { session } = (await api.call('GET', `${SESSIONS}/${sessionId}`)).body;
  assert.equal(Date.parse(session.expirationDate) - Date.parse(session.creationDate), 30 * 86_400_000);
  const age = (days: string) =>
    api.deps.pool.query(`update sessions set created_at = now() - $2::interval where id = $1`, [sessionId, days]);
  await age('29 days 23 hours');
  assert.equal((await api.call('GET', `${SESSIONS}/${sessionId}`)).status, 200);
  await age('30 days 1 second');
  for (const method of ['GET', 'DELETE']) {
    const answer = await api.call(method, `${SESSIONS}/${sessionId}`);
    assert.deepEqual([answer.status, errorId(answer)], [404, 'SESSION-NOT-FOUND']);
  }
});

test('unknown user, wrong password and no password give the same answer after the same work', async () => {
  const { userId: robot } = await api.machine(org.orgId);
  const bodies = [];
  for (const [user, password, expected] of [
    [{ loginName: 'nobody' }, 'correct horse', 'nothing'],
    [{ loginName: 'nobody@nowhere.example' }, 'correct horse', 'nothing'],
    [{ userId: 'missing' }, 'correct horse', 'nothing'],
    [{ userId: org.userId }, 'wrong', 'verify'],
    [{ userId: robot }, 'correct horse', 'nothing'],
  ] as const) {
    work = [];
    const answer = await login(user, password);
    assert.deepEqual(work, [expected]);
    assert.equal(answer.status, 400);
    bodies.push(JSON.stringify(answer.body));
  }
  assert.equal(new Set(bodies).size, 1);
  assert.equal(JSON.parse(bodies[0] as string).details[0].id, 'SESSION-CREDENTIALS');
});

test('a bare name that equals the full login name of another user belongs to that other user', async () => {
  const domain = `${unique('acme')}.example`;
  const acme = await api.setupOrg({ org: { domain }, human: { userName: 'ann' } });
  const userName = `ann@${domain}`;
  const impostor = await api.setupOrg({ human: { userName, password: 'battery staple' } });
  const { body } = await login({ loginName: userName });
  const { session } = (await api.call('GET', `${SESSIONS}/${body.sessionId}`)).body;
  assert.equal(session.factors.user.id, acme.userId);
  assert.equal((await login({ loginName: userName }, 'battery staple')).status, 400);
  const names = await loginNamesOf(impostor.userId);
  assert.equal((await login({ loginName: names[0] }, 'battery staple')).status, 201);
});

test('a state that cannot log in is revealed only after the right password', async () => {
  const { userId } = await api.setupOrg();
  for (const state of ['LOCKED', 'INACTIVE', 'INITIAL']) {
    await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state.toLowerCase()]);
    const right = await login({ userId });
    assert.deepEqual([right.status, right.body.code, errorId(right)], [400, 9, `SESSION-USER-${state}`]);
    assert.equal(errorId(await login({ userId }, 'wrong')), 'SESSION-CREDENTIALS');
  }
});

test('a caller without a role in the user’s organization learns nothing, and gets no session', async () => {
  const outsider = await api.machine(other.orgId, ['ORG_OWNER_VIEWER']);
  const options = { token: outsider.token };
  const theirs = await login({ userId: org.userId }, 'wrong', options);
  const missing = await login({ userId: 'missing' }, 'wrong', options);
  assert.deepEqual([theirs.status, theirs.body], [400, missing.body]);
  const [full] = await loginNamesOf(org.userId);
  for (const user of [{ userId: org.userId }, { loginName: full }, { loginName: org.userName }]) {
    for (const password of ['correct horse', 'wrong']) {
      work = [];
      const answer = await login(user, password, options);
      assert.deepEqual([answer.status, answer.body, work], [400, missing.body, ['nothing']]);
    }
  }
  assert.equal((await login({ userId: other.userId }, 'correct horse', options)).status, 201);
  const nobody = await api.machine(org.orgId);
  assert.equal((await api.call('POST', SESSIONS, '{', { token: nobody.token })).status, 403);
});

test('the first successful login stores the current hash format, a failed one does not', async () => {
  const { userId } = await api.setupOrg();
  const md5 = '5f4dcc3b5aa765d61d8327deb882cf99'; // "password"
  await api.deps.pool.query('update users set password_hash = $2 where id = $1', [userId, md5]);
  const hash = async () =>
    (await api.deps.pool.query('select password_hash, sequence from users where id = $1', [userId])).rows[0];
  const before = await hash();
  await login({ userId }, 'wrong');
  assert.equal((await hash()).password_hash, md5);
  assert.equal((await login({ userId }, 'password')).status, 201);
  const after = await hash();
  assert.match(after.password_hash, /^\$2[aby]\$/);
  assert.equal(after.sequence, before.sequence);
  assert.equal((await login({ userId }, 'password')).status, 201);
  assert.deepEqual(await hash(), after);
});

test('parallel first logins all succeed', async () => {
  const { userId } = await api.setupOrg();
  await api.deps.pool.query('update users set password_hash = $2 where id = $1', [
    userId,
    '5f4dcc3b5aa765d61d8327deb882cf99',
  ]);
  const answers = await Promise.all(Array.from({ length: 20 }, () => login({ userId }, 'password')));
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([201]));
});

test('a user who must change the password gets a session that says so', async () => {
  const { userId } = await api.setupOrg();
  await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
  const { status, body } = await login({ userId });
  assert.deepEqual([status, body.passwordChangeRequired], [201, true]);
});

test('an expired password gives no session, and a wrong one does not reveal the expiry', async () => {
  const { userId, orgId } = await api.setupOrg();
  const policy = { maxAgeDays: 30, expireWarnDays: 5 };
  await api.call('POST', '/management/v1/policies/password/age', policy, { orgId });
  const age = (days: number) =>
    api.deps.pool.query(`update users set password_changed_at = now() - $2 * interval '1 day' where id = $1`, [
      userId,
      days,
    ]);
  await age(29.9);
  assert.equal((await login({ userId })).status, 201);
  await age(30.1);
  const expired = await login({ userId });
  assert.deepEqual([expired.status, expired.body.code, errorId(expired)], [400, 9, 'SESSION-PASSWORD-EXPIRED']);
  assert.equal(errorId(await login({ userId }, 'wrong')), 'SESSION-CREDENTIALS');
  await api.call('DELETE', '/management/v1/policies/password/age', undefined, { orgId });
  assert.equal((await login({ userId })).status, 201);
});

test('a second factor is required, and the session says when it was checked', async () => {
  const { userId } = await api.setupOrg();
  const { body: totp } = await api.call('POST', `/v2beta/users/${userId}/totp`, {});
  const now = Date.now();
  await api.call('POST', `/v2beta/users/${userId}/totp/verify`, { code: codeAt(totp.secret, now) });
  const withCode = (code?: string) =>
    api.call('POST', SESSIONS, {
      checks: { user: { userId }, password: { password: 'correct horse' }, ...(code ? { totp: { code } } : {}) },
    });
  const without = await withCode();
  assert.deepEqual([without.status, without.body.code, errorId(without)], [400, 9, 'SESSION-TOTP-REQUIRED']);
  assert.equal(errorId(await withCode(wrongCode(totp.secret, now))), 'SESSION-TOTP');
  // The enrolment consumed the code of the previous step.
  const right = await withCode(codeAt(totp.secret, now + 30_000));
  assert.equal(right.status, 201);
  const { session } = (await api.call('GET', `${SESSIONS}/${right.body.sessionId}`)).body;
  assert.deepEqual(Object.keys(session.factors).sort(), ['password', 'totp', 'user']);
  assert(Date.parse(session.factors.totp.verifiedAt) >= now - 60_000);
});

test('a recovery code is right in place of the second factor, once, and the answer says how many are left', async () => {
  const { userId } = await api.setupOrg();
  const { pool, secrets } = api.deps;
  const { shown, text } = newRecoveryCodes();
  await putRecovery(pool, userId, { sealed: secrets.seal(text, RECOVERY_PURPOSE), left: shown.length });
  const withCode = (checks: Record<string, unknown>) =>
    api.call('POST', SESSIONS, { checks: { user: { userId }, password: { password: 'correct horse' }, ...checks } });
  const recoveryCode = { code: shown[0]?.toLowerCase() };
  assert.equal(errorId(await withCode({ recoveryCode })), 'SESSION-TOTP', 'codes alone are no second factor');
  const { body: totp } = await api.call('POST', `/v2beta/users/${userId}/totp`, {});
  await api.call('POST', `/v2beta/users/${userId}/totp/verify`, { code: codeAt(totp.secret) });
  const both = await withCode({ recoveryCode, totp: { code: '123456' } });
  assert.deepEqual([errorId(both), badFieldsOf(both)], ['SESSION-INVALID', ['checks']]);
  const right = await withCode({ recoveryCode });
  assert.deepEqual([right.status, right.body.recoveryCodesLeft], [201, 9]);
  const { session } = (await api.call('GET', `${SESSIONS}/${right.body.sessionId}`)).body;
  assert.deepEqual(Object.keys(session.factors).sort(), ['password', 'recoveryCode', 'user']);
  assert.equal(errorId(await withCode({ recoveryCode })), 'SESSION-TOTP');
});

test('all of a user’s sessions end at once, and nobody else’s', async () => {
  const { userId } = await api.setupOrg();
  const ids: string[] = [];
  for (const id of [userId, userId, org.userId]) ids.push((await login({ userId: id })).body.sessionId);
  await revokeSessions(api.deps.pool, userId);
  const answers = await Promise.all(ids.map((id) => api.call('GET', `${SESSIONS}/${id}`)));
  assert.deepEqual(
    answers.map((a) => a.status),
    [404, 404, 200],
  );
});

test('stopping a user waits for a session that is being created, and ends it too', async () => {
  const { userId, orgId } = await api.setupOrg();
  const { pool } = api.deps;
  const { passwordSetAt = null } = (await findLogin(pool, { userId })) ?? {};
  const user = { id: userId, orgId, amr: ['pwd'], passwordSetAt };
  let locking: Promise<void> | undefined;
  await transaction(pool, async (db) => {
    assert(await addSession(db, user, 'token', 'system'));
    locking = transaction(pool, async (other) => {
      await other.query(`update users set state = 'locked' where id = $1`, [userId]);
      await revokeSessions(other, userId);
    });
    await waitFor(
      async () =>
        (
          await pool.query(
            `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).rowCount,
      { what: 'the change of state to wait' },
    );
  });
  await locking;
  assert.equal((await pool.query('select 1 from sessions where user_id = $1', [userId])).rowCount, 0);
  assert.equal(await addSession(pool, user, 'late', 'system'), undefined);
});

test('invalid bodies name their fields; snake_case is accepted', async () => {
  for (const [checks, fields] of [
    [undefined, ['checks']],
    [{}, ['checks.password', 'checks.user']],
    [{ user: {}, password: { password: 'x' } }, ['checks.user']],
    [{ user: { userId: 'a', loginName: 'b' }, password: { password: 'x' } }, ['checks.user']],
    [{ user: { userId: 'a' }, password: { password: '' } }, ['checks.password.password']],
    [{ user: { userId: 'a' }, password: { password: 'x' }, totp: {} }, ['checks.totp.code']],
  ] as const) {
    const answer = await api.call('POST', SESSIONS, { checks });
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, fields]);
  }
  assert.equal((await login({ user_id: org.userId })).status, 201);
});
