/** The check of a login: counted failures, delayed answers, locked users. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { clearFailures } from '../../src/access/revocation.ts';
import type { ApiError } from '../../src/errors.ts';
import { checkLogin, type LoginDeps, verifyOwnPassword } from '../../src/identity/login/check.ts';
import { countFailure } from '../../src/identity/login/failures.ts';
import type { LoginUser } from '../../src/identity/login/store.ts';
import { TOTP_SEAL } from '../../src/identity/totp/secret.ts';
import { type Hasher, openHasher } from '../../src/passwords/hasher.ts';
import { type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';

const RIGHT = 'correct horse';
const LIMIT = 4;
const CREDENTIALS = { id: 'SESSION-CREDENTIALS', status: 'INVALID_ARGUMENT' };

describe('a login', () => {
  let api: TestApi;
  let deps: LoginDeps;
  before(async () => {
    api = await startApi({ env: { LOCK_AFTER_FAILURES: String(LIMIT), LOGIN_DELAY_MS: '0' } });
    deps = api.deps;
  });
  after(() => api.stop());

  const login = (who: LoginUser, password = RIGHT, totp?: string) => checkLogin(deps, who, { password, totp });
  async function failing(who: LoginUser, times: number): Promise<void> {
    for (let i = 0; i < times; i++) await assert.rejects(login(who, 'wrong'), CREDENTIALS);
  }
  const userRow = async (userId: string) =>
    (await api.deps.pool.query('select state, sequence from users where id = $1', [userId])).rows[0];
  const failuresOf = async (userId: string): Promise<number> =>
    (await api.deps.pool.query('select failures from login_failures where user_id = $1', [userId])).rows[0]?.failures;
  const lockEvents = async (userId: string) =>
    (await api.deps.pool.query(`select * from events where aggregate_id = $1 and type = 'user.locked'`, [userId])).rows;
  const set = (userId: string, assignment: string) =>
    api.deps.pool.query(`update users set ${assignment} where id = $1`, [userId]);

  it('returns who the user is, and nothing more', async () => {
    const { userId, orgId } = await api.setupOrg();
    const { body } = await api.call('GET', `/v2beta/users/${userId}`);
    const { loginName, passwordSetAt, ...rest } = await login({ userId });
    assert.equal(loginName, body.user.preferredLoginName);
    assert(Date.parse(passwordSetAt ?? '') <= Date.now());
    assert.deepEqual(rest, {
      id: userId,
      orgId,
      displayName: 'Ann Arbor',
      mustChange: undefined,
      expiresInDays: undefined,
      amr: ['pwd'],
    });
  });

  /** The hasher, whose checks wait until `open`. */
  function gated() {
    const gate = Promise.withResolvers<void>();
    const seen = { running: 0, most: 0 };
    const wait = async () => {
      seen.most = Math.max(seen.most, ++seen.running);
      await gate.promise;
      seen.running--;
    };
    const hasher: Hasher = {
      ...deps.hasher,
      verify: (encoded, plain) => wait().then(() => deps.hasher.verify(encoded, plain)),
      verifyNothing: (plain) => wait().then(() => deps.hasher.verifyNothing(plain)),
    };
    return { open: gate.resolve, seen, deps: { ...deps, hasher } };
  }

  it('checks one password of a user at a time, and refuses at once when 31 wait, as for an unknown user', async () => {
    const { userId } = await api.setupOrg();
    for (const who of [{ userId }, { loginName: unique('nobody') }]) {
      const { open, seen, deps: held } = gated();
      const outcomes: string[] = [];
      const attempts = Array.from({ length: 35 }, () =>
        checkLogin(held, who, { password: 'wrong' }).catch((error: ApiError) => outcomes.push(error.id)),
      );
      await waitFor(() => outcomes.length === 3, { what: 'the refusals' });
      assert.deepEqual(outcomes, Array(3).fill('SESSION-ATTEMPTS'));
      assert.equal((await login({ userId: (await api.setupOrg()).userId })).amr[0], 'pwd', 'others log in meanwhile');
      open();
      await Promise.all(attempts);
      assert.deepEqual(outcomes.slice(3), Array(32).fill('SESSION-CREDENTIALS'));
      assert.equal(seen.most, 1);
    }
  });

  it('checks nothing for callers who have gone', async () => {
    const { userId } = await api.setupOrg();
    const { open, seen, deps: held } = gated();
    const caller = new AbortController();
    const first = checkLogin(held, { userId }, { password: RIGHT });
    await waitFor(() => seen.running === 1, { what: 'the first check' });
    const second = checkLogin(held, { userId }, { password: 'wrong', gone: caller.signal });
    const gone = assert.rejects(second, /gone/);
    caller.abort(new Error('gone'));
    open();
    await Promise.all([first, gone]);
    assert.equal(seen.most, 1);
    assert.equal(await failuresOf(userId), undefined, 'it is no failure');
  });

  it('says why the password must be changed; expired takes precedence over required', async () => {
    const { userId, orgId } = await api.setupOrg();
    await set(userId, 'password_change_required = true');
    assert.equal((await login({ userId })).mustChange, 'required');
    const policy = { maxAgeDays: 10, expireWarnDays: 3 };
    await api.call('POST', '/management/v1/policies/password/age', policy, { orgId });
    await set(userId, `password_changed_at = now() - interval '10 days 1 minute'`);
    assert.equal((await login({ userId })).mustChange, 'expired');
    await set(userId, `password_change_required = false, password_changed_at = now() - interval '9 days'`);
    const { mustChange, expiresInDays } = await login({ userId });
    assert.deepEqual([mustChange, expiresInDays], [undefined, 0]);
  });

  it('uses the instance’s password age if the organization has none', async () => {
    const { userId } = await api.setupOrg();
    await set(userId, `password_changed_at = now() - interval '5 days'`);
    const INSTANCE = '/admin/v1/policies/password/age';
    await api.call('PUT', INSTANCE, { maxAgeDays: 4, expireWarnDays: 0 });
    const { mustChange } = await login({ userId });
    await api.call('PUT', INSTANCE, { maxAgeDays: 7, expireWarnDays: 3 });
    const { expiresInDays } = await login({ userId });
    await api.call('PUT', INSTANCE, { maxAgeDays: 0, expireWarnDays: 0 });
    assert.deepEqual([mustChange, expiresInDays], ['expired', 1]);
  });

  it('locks the user at the failure limit, with one event, and ends their sessions', async () => {
    const { userId } = await api.setupOrg();
    const checks = { user: { userId }, password: { password: RIGHT } };
    const { sessionId } = (await api.call('POST', '/v2beta/sessions', { checks })).body;
    await failing({ userId }, LIMIT - 1);
    assert.equal((await userRow(userId)).state, 'active');
    await failing({ userId }, 1);
    const [event, ...more] = await lockEvents(userId);
    assert.deepEqual([more.length, event.editor], [0, 'system']);
    assert.deepEqual(await userRow(userId), { state: 'locked', sequence: event.sequence });
    assert.equal((await api.call('GET', `/v2beta/sessions/${sessionId}`)).status, 404);
    await assert.rejects(login({ userId }), { id: 'SESSION-USER-LOCKED', status: 'FAILED_PRECONDITION' });
    await failing({ userId }, 1);
    assert.equal((await lockEvents(userId)).length, 1);
  });

  it('counts by user, under any name', async () => {
    const { userId } = await api.setupOrg();
    const { loginNames } = (await api.call('GET', `/v2beta/users/${userId}`)).body.user;
    await failing({ userId }, 1);
    for (const loginName of [loginNames[0], loginNames[0].toUpperCase(), loginNames[1]])
      await failing({ loginName }, 1);
    assert.equal((await userRow(userId)).state, 'locked');
  });

  it('resets the failures when it succeeds, when they are cleared and after a day', async () => {
    const { userId } = await api.setupOrg();
    for (const forget of [
      () => login({ userId }),
      () => clearFailures(deps.pool, userId),
      () => deps.pool.query(`update login_failures set last_failure_at = now() - interval '24 hours 1 second'`),
    ]) {
      await failing({ userId }, LIMIT - 1);
      await forget();
    }
    await failing({ userId }, LIMIT - 1);
    assert.equal((await userRow(userId)).state, 'active');
    assert.equal((await login({ userId })).id, userId);
    assert.equal(await failuresOf(userId), undefined);
  });

  it('of an inactive user does not affect their state', async () => {
    const { userId } = await api.setupOrg();
    await set(userId, `state = 'inactive'`);
    await failing({ userId }, LIMIT + 1);
    assert.equal((await userRow(userId)).state, 'inactive');
    assert.deepEqual(await lockEvents(userId), []);
  });

  it('never locks a user without a password, and counts no machine', async () => {
    const { userId, orgId } = await api.setupOrg();
    await set(userId, 'password_hash = null');
    await failing({ userId }, LIMIT);
    assert.equal((await userRow(userId)).state, 'active');
    const robot = await api.machine(orgId);
    await failing({ userId: robot.userId }, LIMIT);
    assert.equal((await userRow(robot.userId)).state, 'active');
  });

  it('locks once when many fail at the same time', async () => {
    const { userId } = await api.setupOrg();
    await Promise.all(Array.from({ length: 3 * LIMIT }, () => failing({ userId }, 1)));
    assert.equal((await userRow(userId)).state, 'locked');
    assert.equal((await lockEvents(userId)).length, 1);
  });

  it('succeeds twenty times in parallel', async () => {
    const { userId } = await api.setupOrg();
    await failing({ userId }, LIMIT - 1);
    const all = await Promise.all(Array.from({ length: 20 }, () => login({ userId })));
    assert.deepEqual(new Set(all.map((one) => one.id)), new Set([userId]));
    assert.equal((await userRow(userId)).state, 'active');
  });

  it('with the right password fails while the user is being locked', async () => {
    const { userId } = await api.setupOrg();
    const { hasher } = deps;
    const whileChecking = (change: () => Promise<unknown>): LoginDeps => ({
      ...deps,
      hasher: { ...hasher, verify: async (...args) => change().then(() => hasher.verify(...args)) },
    });
    const lock = () => set(userId, `state = 'locked'`);
    await assert.rejects(checkLogin(whileChecking(lock), { userId }, { password: RIGHT }), {
      id: 'SESSION-USER-LOCKED',
    });
    await set(userId, `state = 'active'`);
    const change = () => set(userId, 'password_changed_at = clock_timestamp()');
    await assert.rejects(checkLogin(whileChecking(change), { userId }, { password: RIGHT }), CREDENTIALS);
    const remove = () => api.call('DELETE', `/v2beta/users/${userId}`);
    await assert.rejects(checkLogin(whileChecking(remove), { userId }, { password: RIGHT }), CREDENTIALS);
  });

  it('stores no new hash over a password that was changed since, and ignores a failure to store it', async () => {
    const { userId } = await api.setupOrg();
    const md5 = '5f4dcc3b5aa765d61d8327deb882cf99'; // "password"
    await set(userId, `password_hash = '${md5}'`);
    const withHash = (hash: () => Promise<string>): LoginDeps => ({ ...deps, hasher: { ...deps.hasher, hash } });
    const broken = withHash(() => Promise.reject(new Error('no thread')));
    assert.equal((await checkLogin(broken, { userId }, { password: 'password' })).id, userId);
    const overtaken = withHash(async () => {
      await set(userId, `password_hash = 'of another password'`);
      return 'of this password';
    });
    await checkLogin(overtaken, { userId }, { password: 'password' });
    const { rows } = await deps.pool.query('select password_hash from users where id = $1', [userId]);
    assert.equal(rows[0].password_hash, 'of another password');
  });

  it('checks the caller’s permission after the right password and before anything else', async () => {
    const { userId, orgId } = await api.setupOrg();
    await set(userId, `state = 'locked'`);
    const asked: unknown[] = [];
    const refuse = (user: { id: string; orgId: string }) => {
      asked.push([user.id, user.orgId]);
      throw new Error('not yours');
    };
    await assert.rejects(checkLogin(deps, { userId }, { password: 'wrong' }, refuse), CREDENTIALS);
    await assert.rejects(checkLogin(deps, { userId }, { password: RIGHT }, refuse), { message: 'not yours' });
    assert.deepEqual(asked, [[userId, orgId]]);
  });

  describe('with a second factor', () => {
    const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    async function withFactor(): Promise<SetUp> {
      const user = await api.setupOrg();
      await deps.pool.query('insert into user_totp (user_id, secret, confirmed_at) values ($1, $2, now())', [
        user.userId,
        deps.secrets.seal(SECRET, TOTP_SEAL),
      ]);
      return user;
    }

    it('accepts its code', async () => {
      const { userId } = await withFactor();
      assert.deepEqual((await login({ userId }, RIGHT, codeAt(SECRET))).amr, ['pwd', 'otp', 'mfa']);
      await assert.rejects(login({ userId }, 'wrong', codeAt(SECRET)), CREDENTIALS);
    });

    it('counts wrong codes; a missing one neither counts nor resets', async () => {
      const { userId } = await withFactor();
      for (let i = 1; i <= LIMIT; i++) {
        for (const none of [undefined, '']) {
          await assert.rejects(login({ userId }, RIGHT, none), { id: 'SESSION-TOTP-REQUIRED' });
        }
        await assert.rejects(login({ userId }, RIGHT, wrongCode(SECRET)), { id: 'SESSION-TOTP' });
        assert.equal(await failuresOf(userId), i);
      }
      await assert.rejects(login({ userId }, RIGHT, codeAt(SECRET)), { id: 'SESSION-USER-LOCKED' });
    });

    it('refuses a code for a user without a factor', async () => {
      const { userId } = await api.setupOrg();
      await assert.rejects(login({ userId }, RIGHT, codeAt(SECRET)), { id: 'SESSION-TOTP' });
    });
  });

  describe('of an IAM_OWNER', () => {
    const owner = async () => {
      const user = await api.setupOrg();
      await api.call('POST', '/admin/v1/members', { userId: user.userId, roles: ['IAM_OWNER'] });
      return user;
    };

    it('locks the user while another owner is left; of two at once only one', async () => {
      const owners = [await owner(), await owner()];
      await Promise.all(owners.map(({ userId }) => failing({ userId }, 2 * LIMIT)));
      const states = await Promise.all(owners.map(async ({ userId }) => (await userRow(userId)).state));
      assert.deepEqual(states.sort(), ['active', 'locked']);
      const spared = owners[states.indexOf('active')] as SetUp;
      const all = await Promise.all(owners.map(({ userId }) => login({ userId }).catch((e) => e.id)));
      assert.equal(all.filter((one) => one === 'SESSION-USER-LOCKED').length, 1, spared.userId);
    });
  });

  describe('with the current password', () => {
    it('is right or wrong, and counts failures', async () => {
      const { userId } = await api.setupOrg();
      assert.equal(await verifyOwnPassword(deps, userId, 'wrong'), false);
      assert.equal(await failuresOf(userId), 1);
      assert.equal(await verifyOwnPassword(deps, userId, RIGHT), true);
      assert.equal(await failuresOf(userId), undefined);
      for (let i = 0; i < LIMIT; i++) assert.equal(await verifyOwnPassword(deps, userId, 'wrong'), false);
      assert.equal((await userRow(userId)).state, 'locked');
      assert.equal(await verifyOwnPassword(deps, userId, RIGHT), false);
      assert.equal(await verifyOwnPassword(deps, 'missing', RIGHT), false);
    });
  });

  it('never locks if locking is off', async () => {
    const { userId } = await api.setupOrg();
    const off = { ...deps, config: { LOCK_AFTER_FAILURES: 0, LOGIN_DELAY_MS: 0 } };
    for (let i = 0; i < 12; i++) await assert.rejects(checkLogin(off, { userId }, { password: 'wrong' }), CREDENTIALS);
    assert.equal((await userRow(userId)).state, 'active');
  });
});

describe('the answer to a failed login', () => {
  const BASE_MS = 60;
  /** Before any delay. */
  const STEP_MS = 5 * BASE_MS;
  let api: TestApi;
  let org: SetUp;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: String(BASE_MS) } });
    org = await api.setupOrg();
  });
  after(() => api.stop());

  const fail = (who: LoginUser) =>
    assert.rejects(checkLogin(api.deps, who, { password: 'wrong' }), { id: 'SESSION-CREDENTIALS' });
  async function times(who: LoginUser, count: number): Promise<number[]> {
    const taken = [];
    for (let i = 0; i < count; i++) {
      const begun = performance.now();
      await fail(who);
      taken.push(performance.now() - begun);
    }
    return taken;
  }

  it('is delayed more and more from the fourth on, whether or not the user exists', async () => {
    for (const who of [{ userId: org.userId }, { userId: 'missing' }, { loginName: unique('nobody') }]) {
      const taken = await times(who, 5);
      const [fourth, fifth] = taken.slice(3) as [number, number];
      // A timer may end a millisecond early.
      assert(fourth >= STEP_MS + BASE_MS - 2 && fifth >= STEP_MS + 2 * BASE_MS - 2, `delayed: ${taken}`);
    }
  });

  it('takes as long for a user who has logged in since as for an unknown one', async () => {
    const { userId, userName } = await api.setupOrg();
    for (const who of [{ loginName: userName }, { loginName: unique('nobody') }]) {
      await times(who, 4);
      await checkLogin(api.deps, { userId }, { password: RIGHT });
      const [next] = await times(who, 1);
      assert((next as number) >= STEP_MS + 2 * BASE_MS - 2, `delayed: ${next}`);
    }
  });

  it('does not reveal by its time whether an expensive hash was checked or the name is unknown', async () => {
    const { userId } = await api.setupOrg();
    const hash = await openHasher({ threads: 1, bcryptCost: 10 }).hash(RIGHT);
    await api.deps.pool.query('update users set password_hash = $2 where id = $1', [userId, hash]);
    for (const who of [{ userId }, { loginName: unique('nobody') }]) {
      const [first] = await times(who, 1);
      assert((first as number) >= STEP_MS - 2, `answered after ${first}`);
    }
  });

  it('holds no database connection while it waits', async () => {
    const { pool } = api.deps;
    const rounds: Promise<unknown>[] = [];
    /** Whether all connections were idle while five counted failures waited; a slow machine may miss that moment. */
    async function isSeen(): Promise<boolean> {
      const who = { userId: unique('somebody') };
      await pool.query('delete from login_delays');
      for (let i = 0; i < 9; i++) await countFailure(pool, who, undefined);
      let answered = 0;
      rounds.push(Promise.all(Array.from({ length: 5 }, () => fail(who).then(() => answered++))));
      while (answered === 0) {
        const { rowCount } = await pool.query('select 1 from login_delays where failures = 14');
        await setImmediate();
        if (rowCount && pool.idleCount === pool.totalCount) return answered === 0;
      }
      return false;
    }
    await waitFor(isSeen, { what: 'five failures that wait without a connection' });
    await Promise.all(rounds);
  });
});
