/** The check of a login: who may log in, and how failures count. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { LoginUser } from '../../src/contract/sessions.ts';
import type { Hasher } from '../../src/passwords/hasher.ts';
import { TOTP_PURPOSE } from '../../src/passwords/totp-secret.ts';
import type { ApiError } from '../../src/platform/errors.ts';
import { checkLogin, verifyOwnPassword } from '../../src/signin/login/check.ts';
import { attemptKeys } from '../../src/signin/login/delays.ts';
import type { LoginDeps } from '../../src/signin/login/origin.ts';
import { type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';

const RIGHT = 'correct horse';
const LIMIT = 4;
const NETWORK = '203.0.113.7';
const FAILURES = { id: 'SESSION-FAILURES', status: 'RESOURCE_EXHAUSTED' };
/** For a minute from the last failure, of which some time has passed. */
const isLocked = ({ id, retryAfterS }: { id: string; retryAfterS: number }) =>
  id === FAILURES.id && retryAfterS > 50 && retryAfterS <= 60;
const CREDENTIALS = { id: 'SESSION-CREDENTIALS', status: 'INVALID_ARGUMENT' };

describe('a login', () => {
  let api: TestApi;
  let deps: LoginDeps;
  before(async () => {
    api = await startApi({ env: { LOCK_AFTER_FAILURES: String(LIMIT), LOGIN_DELAY_MS: '0' } });
    deps = api.deps;
  });
  after(() => api.stop());

  const from = (user: LoginUser, network = NETWORK) => ({ user, network });
  const login = (user: LoginUser, password = RIGHT, totp = '') =>
    checkLogin(deps, from(user), { password, factor: { totp } });
  async function failing(who: LoginUser, times: number): Promise<void> {
    for (let i = 0; i < times; i++) await assert.rejects(login(who, 'wrong'), CREDENTIALS);
  }
  const userRow = async (userId: string) =>
    (await api.deps.pool.query('select state, sequence from users where id = $1', [userId])).rows[0];
  /** What is counted for the user, by id, from NETWORK. */
  const failuresOf = async (userId: string): Promise<number | undefined> => {
    const { here } = attemptKeys(deps.secrets, { userId }, { network: NETWORK });
    return (await deps.pool.query('select failures from login_delays where bucket = $1', [here])).rows[0]?.failures;
  };
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
    const seen = { running: 0, most: 0, checks: 0 };
    const wait = async () => {
      seen.checks++;
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

  it('checks one password of a user at a time, and refuses at once when 127 wait, as for an unknown user', async () => {
    const { userId } = await api.setupOrg();
    for (const who of [{ userId }, { loginName: unique('nobody') }]) {
      const { open, seen, deps: held } = gated();
      const outcomes: string[] = [];
      const attempts = Array.from({ length: 131 }, () =>
        checkLogin(held, from(who), { password: 'wrong' }).catch((error: ApiError) => outcomes.push(error.id)),
      );
      await waitFor(() => outcomes.length === 3, { what: 'the refusals' });
      assert.deepEqual(outcomes, Array(3).fill('SESSION-ATTEMPTS'));
      assert.equal((await login({ userId: (await api.setupOrg()).userId })).amr[0], 'pwd', 'others log in meanwhile');
      open();
      await Promise.all(attempts);
      const checked = Array(LIMIT).fill('SESSION-CREDENTIALS');
      assert.deepEqual(outcomes.slice(3), [...checked, ...Array(128 - LIMIT).fill('SESSION-FAILURES')]);
      assert.deepEqual([seen.most, seen.checks], [1, LIMIT], 'as many as one after the other');
    }
  });

  it('waits for no attempt from another network, except for its check', async () => {
    const { userId } = await api.setupOrg();
    const { open, seen, deps: held } = gated();
    const failing = (network: string) =>
      assert.rejects(checkLogin(held, from({ userId }, network), { password: 'wrong' }), CREDENTIALS);
    const first = failing('a');
    await waitFor(() => seen.running === 1, { what: 'the first check' });
    const more = ['a', 'b'].map(failing);
    const counted = async (network: string) => {
      const { here } = attemptKeys(deps.secrets, { userId }, { network });
      return (await deps.pool.query('select from login_delays where bucket = $1', [here])).rowCount === 1;
    };
    await waitFor(() => counted('b'), { what: 'the attempt from another network' });
    open();
    await Promise.all([first, ...more]);
    assert.deepEqual([seen.most, seen.checks], [1, 3]);
  });

  it('checks nothing for callers who have gone', async () => {
    const { userId } = await api.setupOrg();
    const { open, seen, deps: held } = gated();
    const caller = new AbortController();
    const first = checkLogin(held, from({ userId }), { password: RIGHT });
    await waitFor(() => seen.running === 1, { what: 'the first check' });
    const second = checkLogin(held, { ...from({ userId }), clientAborted: caller.signal }, { password: 'wrong' });
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

  it('is locked for a time at the failure limit, from that network and under that name, and checks nothing then', async () => {
    const { userId } = await api.setupOrg();
    const { loginNames } = (await api.call('GET', `/v2beta/users/${userId}`)).body.user;
    const checks = { user: { userId }, password: { password: RIGHT } };
    const { sessionId } = (await api.call('POST', '/v2beta/sessions', { checks })).body;
    await failing({ userId }, LIMIT);
    const none = () => assert.fail('a password was checked');
    const unable = { ...deps, hasher: { ...deps.hasher, verify: none, verifyNothing: none } };
    for (const password of [RIGHT, 'wrong']) {
      await assert.rejects(checkLogin(unable, from({ userId }), { password }), isLocked);
    }
    assert.equal((await userRow(userId)).state, 'active');
    assert.equal((await api.call('GET', `/v2beta/sessions/${sessionId}`)).status, 200);
    assert.equal((await checkLogin(deps, from({ userId }, 'elsewhere'), { password: RIGHT })).id, userId);
    await assert.rejects(login({ userId }), FAILURES);
    for (const loginName of loginNames) assert.equal((await login({ loginName })).id, userId);
  });

  it('resets the failures of its network when it succeeds, and all after a new password, an unlock or a day', async () => {
    const { userId, orgId } = await api.setupOrg();
    const change = (name: string) => api.call('POST', `/v2beta/users/${userId}/${name}`);
    for (const forget of [
      () => login({ userId }),
      () => set(userId, 'password_changed_at = clock_timestamp()'),
      () => change('lock').then(() => change('unlock')),
      () => change('unlock'),
      () => change('deactivate').then(() => change('reactivate')),
      () => deps.pool.query(`update login_delays set last_failure_at = now() - interval '24 hours 1 second'`),
    ]) {
      await failing({ userId }, LIMIT - 1);
      await forget();
    }
    await failing({ userId }, LIMIT - 1);
    assert.equal((await login({ userId })).orgId, orgId);
    assert.equal(await failuresOf(userId), undefined);
    await failing({ userId }, LIMIT);
    await set(userId, 'password_changed_at = clock_timestamp()');
    assert.equal((await login({ userId })).id, userId, 'the lock has ended too');
  });

  it('is locked alike for unknown users, machines, and users who are inactive or have no password', async () => {
    const { userId, orgId } = await api.setupOrg();
    await set(userId, `state = 'inactive'`);
    const other = await api.setupOrg();
    await set(other.userId, 'password_hash = null');
    const robot = await api.machine(orgId);
    for (const id of [userId, other.userId, robot.userId, unique('missing')]) {
      await failing({ userId: id }, LIMIT);
      await assert.rejects(login({ userId: id }), isLocked);
    }
    assert.deepEqual([(await userRow(userId)).state, (await userRow(other.userId)).state], ['inactive', 'active']);
  });

  it('does not count if nothing could be checked', async () => {
    const { userId } = await api.setupOrg();
    const busy = { ...deps, hasher: { ...deps.hasher, verify: () => Promise.reject(new Error('busy')) } };
    await failing({ userId }, 1);
    for (let i = 0; i < 2 * LIMIT; i++) {
      await assert.rejects(checkLogin(busy, from({ userId }), { password: RIGHT }), /busy/);
    }
    assert.equal(await failuresOf(userId), 1);
  });

  it('succeeds twenty times in parallel', async () => {
    const { userId } = await api.setupOrg();
    await failing({ userId }, LIMIT - 1);
    const all = await Promise.all(Array.from({ length: 20 }, () => login({ userId })));
    assert.deepEqual(new Set(all.map((one) => one.id)), new Set([userId]));
  });

  it('with the right password fails while the user is being locked', async () => {
    const { userId } = await api.setupOrg();
    const { hasher } = deps;
    const whileChecking = (change: () => Promise<unknown>): LoginDeps => ({
      ...deps,
      hasher: { ...hasher, verify: async (...args) => change().then(() => hasher.verify(...args)) },
    });
    const lock = () => set(userId, `state = 'locked'`);
    await assert.rejects(checkLogin(whileChecking(lock), from({ userId }), { password: RIGHT }), {
      id: 'SESSION-USER-LOCKED',
    });
    await set(userId, `state = 'active'`);
    const change = () => set(userId, 'password_changed_at = clock_timestamp()');
    await assert.rejects(checkLogin(whileChecking(change), from({ userId }), { password: RIGHT }), CREDENTIALS);
    const remove = () => api.call('DELETE', `/v2beta/users/${userId}`);
    await assert.rejects(checkLogin(whileChecking(remove), from({ userId }), { password: RIGHT }), CREDENTIALS);
  });

  it('stores no new hash over a password that was changed since, and ignores a failure to store it', async () => {
    const { userId } = await api.setupOrg();
    const md5 = '5f4dcc3b5aa765d61d8327deb882cf99'; // "password"
    await set(userId, `password_hash = '${md5}'`);
    const withHash = (hash: () => Promise<string>): LoginDeps => ({ ...deps, hasher: { ...deps.hasher, hash } });
    const broken = withHash(() => Promise.reject(new Error('no thread')));
    assert.equal((await checkLogin(broken, from({ userId }), { password: 'password' })).id, userId);
    const overtaken = withHash(async () => {
      await set(userId, `password_hash = 'of another password'`);
      return 'of this password';
    });
    await checkLogin(overtaken, from({ userId }), { password: 'password' });
    const { rows } = await deps.pool.query('select password_hash from users where id = $1', [userId]);
    assert.equal(rows[0].password_hash, 'of another password');
  });

  describe('with a second factor', () => {
    const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    async function withFactor(): Promise<SetUp> {
      const user = await api.setupOrg();
      await deps.pool.query('insert into user_totp (user_id, secret, confirmed_at) values ($1, $2, now())', [
        user.userId,
        deps.secrets.seal(SECRET, TOTP_PURPOSE),
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
      await assert.rejects(login({ userId }, RIGHT, codeAt(SECRET)), FAILURES);
    });

    it('refuses a code for a user without a factor', async () => {
      const { userId } = await api.setupOrg();
      await assert.rejects(login({ userId }, RIGHT, codeAt(SECRET)), { id: 'SESSION-TOTP' });
    });
  });

  describe('with the current password', () => {
    it('is right or wrong, and counts failures', async () => {
      const { userId } = await api.setupOrg();
      assert.equal(await verifyOwnPassword(deps, userId, 'wrong', { network: NETWORK }), false);
      assert.equal(await failuresOf(userId), 1);
      assert.equal(await verifyOwnPassword(deps, userId, RIGHT, { network: NETWORK }), true);
      assert.equal(await failuresOf(userId), undefined);
      const verify = (password: string) => verifyOwnPassword(deps, userId, password, { network: NETWORK });
      for (let i = 0; i < LIMIT; i++) assert.equal(await verify('wrong'), false);
      await assert.rejects(verify(RIGHT), FAILURES);
      assert.equal(await verifyOwnPassword(deps, unique('missing'), RIGHT, { network: NETWORK }), false);
    });
  });

  it('never locks if locking is off', async () => {
    const { userId } = await api.setupOrg();
    const off = { ...deps, config: { ...deps.config, LOCK_AFTER_FAILURES: 0, LOGIN_DELAY_MS: 0 } };
    for (let i = 0; i < 12; i++)
      await assert.rejects(checkLogin(off, from({ userId }), { password: 'wrong' }), CREDENTIALS);
    assert.equal((await checkLogin(off, from({ userId }), { password: RIGHT })).id, userId);
  });
});
