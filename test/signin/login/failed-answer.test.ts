/** When a failed login is answered: after a delay, which its failures lengthen, and without a connection meanwhile. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { LoginUser } from '../../../src/contract/sessions.ts';
import { openHasher } from '../../../src/passwords/hasher.ts';
import { checkLogin } from '../../../src/signin/login/check.ts';
import { attemptKeys } from '../../../src/signin/login/delays.ts';
import { startApi, type TestApi, unique } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

const NETWORK = '203.0.113.7';

describe('the answer to a failed login', () => {
  const BASE_MS = 60;
  /** Before any delay. */
  const STEP_MS = 5 * BASE_MS;
  let api: TestApi;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: String(BASE_MS) } });
  });
  after(() => api.stop());

  async function timeOf(user: LoginUser): Promise<number> {
    const begun = performance.now();
    const attempt = checkLogin(api.deps, { user, network: NETWORK }, { password: 'wrong' });
    await assert.rejects(attempt, { id: 'SESSION-CREDENTIALS' });
    return performance.now() - begun;
  }

  it('does not reveal by its time whether an expensive hash was checked or the name is unknown', async () => {
    const { userId } = await api.setupOrg();
    const hash = await openHasher({ threads: 1, bcryptCost: 10 }).hash('correct horse');
    await api.deps.pool.query('update users set password_hash = $2 where id = $1', [userId, hash]);
    for (const user of [{ userId }, { loginName: unique('nobody') }]) {
      const ms = await timeOf(user);
      // A timer may end a millisecond early.
      assert(ms >= STEP_MS - 2, `answered after ${ms}`);
    }
  });

  it('is delayed by the failures before it, whether or not the user exists', async () => {
    const { userId } = await api.setupOrg();
    for (const user of [{ userId }, { loginName: unique('nobody') }]) {
      await timeOf(user);
      const begun = performance.now();
      await delay(user, 1.5);
      await timeOf(user);
      const ms = performance.now() - begun;
      assert(ms >= 1500 + STEP_MS - 4, `answered after ${ms}`);
    }
  });

  it('holds no database connection while it waits', async () => {
    const { pool } = api.deps;
    const user = { userId: 'somebody' };
    await timeOf(user);
    const attempts: Promise<unknown>[] = [];
    /** Whether all connections were idle before the attempt was counted; a slow machine may miss that moment. */
    async function isSeen(): Promise<boolean> {
      await delay(user, 2);
      let isAnswered = false;
      const attempt = timeOf(user).then(() => {
        isAnswered = true;
      });
      attempts.push(attempt);
      while (!isAnswered) {
        await setImmediate();
        if (pool.idleCount === pool.totalCount) return (await failuresOf(user)) === 1;
      }
      return false;
    }
    await waitFor(isSeen, { what: 'an attempt that waits without a connection' });
    await Promise.all(attempts);
  });

  const bucket = (user: LoginUser) => attemptKeys(api.deps.secrets, user, { network: NETWORK }).here;
  const delay = (user: LoginUser, seconds: number) =>
    api.deps.pool.query(
      `update login_delays set failures = 1, open_at = now() + $2 * interval '1 second' where bucket = $1`,
      [bucket(user), seconds],
    );
  const failuresOf = async (user: LoginUser) =>
    (await api.deps.pool.query('select failures from login_delays where bucket = $1', [bucket(user)])).rows[0].failures;
});
