/**
 * When a wrong password is answered. Only a fake clock counts, and checks take as long as it says: no machine is too
 * slow.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it, type TestContext, test } from 'node:test';
import type { LoginUser } from '../../../src/contract/sessions.ts';
import { rememberSlow, slowMs } from '../../../src/directory/users/slow-hashes.ts';
import { checkMs, type Hasher } from '../../../src/passwords/hasher.ts';
import { markOf } from '../../../src/passwords/marks.ts';
import { answerAfterMs } from '../../../src/signin/login/attempts.ts';
import { checkLogin, verifyOwnPassword } from '../../../src/signin/login/check.ts';
import type { LoginDeps } from '../../../src/signin/login/origin.ts';
import { findLogin } from '../../../src/signin/login/store.ts';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

const DELAY_MS = 100;
const STEP_MS = 5 * DELAY_MS;
const RIGHT = 'correct horse';
const BODY = '.'.repeat(53);
const OWN = `$2b$10$${BODY}`;
const HASHES = {
  own: OWN,
  md5: '5f4dcc3b5aa765d61d8327deb882cf99',
  pbkdf2: `$pbkdf2-sha256$600000$c2VhLXNhbHQ$${'A'.repeat(43)}`,
  bcrypt12: `$2b$12$${BODY}`,
  bcrypt14: `$2b$14$${BODY}`,
  unsaid: `$form$latin1,digest$${OWN}`,
};
/** An encoding has these letters in other bytes, so there are more readings. */
const WRONG = ['wrong', 'Grüße'];

describe('the answer to a wrong password', () => {
  let api: TestApi;
  let org: SetUp;
  let deps: LoginDeps;
  let nowMs = 0;
  /** How long the next check waits for a thread. */
  let queueMs = 0;
  /** The machine is this much slower than the one where work was measured. */
  let factor = 1;
  /** How often a hash was computed. */
  let runs = 0;

  const spend = async (ms: number, started?: () => void) => {
    nowMs += queueMs;
    started?.();
    nowMs += factor * ms;
  };
  const hasher = (real: Hasher): Hasher => ({
    ...real,
    async verify(encoded, plain, _gone, started) {
      runs++;
      await spend(checkMs(encoded), started);
      return { ok: plain === RIGHT, rehash: false };
    },
    verifyNothing(_plain, _gone, started) {
      runs++;
      return spend(checkMs(), started);
    },
    slowness: () => factor,
  });
  const clock = {
    now: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };

  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: String(DELAY_MS), PASSWORD_SOURCE_ALLOW_PRIVATE: 'true' } });
    org = await api.setupOrg();
    deps = { ...api.deps, hasher: hasher(api.deps.hasher), clock };
  });
  after(() => api.stop());
  beforeEach(async () => {
    [queueMs, factor] = [0, 1];
    await api.deps.pool.query('delete from slow_hashes');
    await api.deps.pool.query('update password_sources set slow_ms = 0, slow_at = null');
  });

  /** A user of an old system that takes so long to refuse a password. */
  async function userAtSource(t: TestContext, refusalMs: () => number): Promise<{ userId: string }> {
    const server = createServer((_req, res) => {
      nowMs += refusalMs();
      res.writeHead(200, { connection: 'close' }).end('{"valid":false}');
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const body = { name: unique('old'), kind: 'http', settings: { url } };
    const { sourceId } = (await api.call('POST', '/management/v1/password_sources', body, { orgId: org.orgId })).body;
    return userWith(markOf(sourceId));
  }

  async function userWith(hash: string | null, state = 'active'): Promise<{ userId: string }> {
    const userId = unique('u');
    await api.deps.pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence, password_hash)
       values ($1, $2, 'human', $3, $1, $1, 'a@b', 1, $4)`,
      [userId, org.orgId, state, hash],
    );
    return { userId };
  }

  async function timeOf(user: LoginUser, password = 'wrong'): Promise<number> {
    const began = nowMs;
    const attempt = checkLogin(deps, { user, network: '203.0.113.7' }, { password });
    await assert.rejects(attempt, { id: password === RIGHT ? 'SESSION-USER-LOCKED' : 'SESSION-CREDENTIALS' });
    return nowMs - began;
  }

  async function everybody(hashes: Record<string, string> = HASHES): Promise<LoginUser[]> {
    const users: LoginUser[] = await Promise.all([null, ...Object.values(hashes)].map((hash) => userWith(hash)));
    const byAddress = await userWith(OWN);
    await api.deps.pool.query(
      `update users set email = id || '@example.com', email_key = id || '@example.com', email_verified = true where id = any($1)`,
      [[byAddress.userId]],
    );
    const loginName = `${byAddress.userId}@example.com`;
    assert.equal((await findLogin(api.deps.pool, { loginName }))?.id, byAddress.userId);
    const names = [loginName, `${unique('nobody')}@example.com`, unique('nobody')];
    return [
      ...users,
      await userWith(OWN, 'locked'),
      { userId: unique('nobody') },
      ...names.map((name) => ({ loginName: name })),
    ];
  }

  it('comes at the same time for every scheme, for locked and unknown users and those without a password', async () => {
    await rememberSlow(api.deps.pool, slowMs(HASHES.bcrypt14));
    for (const [slower, wholeMs] of [
      [1, 4 * STEP_MS],
      [3, 9 * STEP_MS],
    ] as const) {
      factor = slower;
      for (const password of WRONG) {
        const times = [];
        for (const user of await everybody()) times.push(await timeOf(user, password));
        assert.deepEqual(times, Array(times.length).fill(wholeMs));
      }
    }
  });

  it('comes at the same time for a hash with more readings of other letters, once one such password was tried', async () => {
    await timeOf(await userWith(HASHES.unsaid));
    for (const password of [...WRONG, 'Пароль']) {
      for (const user of await everybody({ own: OWN, unsaid: HASHES.unsaid }))
        assert.equal(await timeOf(user, password), 3 * STEP_MS, password);
    }
  });

  it('tries an encoding for passwords with letters that it has, and for no others', async () => {
    const runsOf = async (password: string, hash = HASHES.unsaid) => {
      runs = 0;
      await timeOf(await userWith(hash), password);
      return runs;
    };
    const of = { typed: 1, latin1: 1, digests: 4, digestsOfLatin1: 2 };
    assert.equal(await runsOf('wrong'), of.typed + of.digests);
    assert.equal(await runsOf('Grüße'), of.typed + of.latin1 + of.digests + of.digestsOfLatin1);
    for (const letters of ['Пароль', '日本', 'Grüße Ж']) assert.equal(await runsOf(letters), of.typed + of.digests);
    assert.equal(await runsOf('Grüße', OWN), 1, 'of a hash of a known program');
    runs = 0;
    await timeOf({ loginName: unique('nobody') }, 'Grüße');
    assert.equal(runs, 1);
  });

  it('is the same with currentPassword', async () => {
    await rememberSlow(api.deps.pool, 400);
    for (const hash of [OWN, HASHES.bcrypt12]) {
      const { userId } = await userWith(hash);
      const began = nowMs;
      assert.equal(await verifyOwnPassword(deps, userId, 'wrong', { network: '203.0.113.7' }), false);
      assert.equal(nowMs - began, 2 * STEP_MS);
    }
  });

  it('takes one step where no expensive hash is in use', async () => {
    assert.equal(await timeOf(await userWith(OWN)), STEP_MS);
    assert.equal(await timeOf({ loginName: unique('nobody') }), STEP_MS);
  });

  it('adds the time that a check waits for a thread, so the load of the service tells nothing', async () => {
    await rememberSlow(api.deps.pool, 400);
    queueMs = 777;
    for (const user of [await userWith(OWN), await userWith(HASHES.bcrypt12), { loginName: unique('nobody') }])
      assert.equal(Math.round(await timeOf(user)), 2 * STEP_MS + queueMs);
  });

  it('takes longer for all from the first attempt on an expensive hash that was not known', async () => {
    await timeOf(await userWith(HASHES.bcrypt14));
    for (const user of await everybody()) assert.equal(await timeOf(user), 4 * STEP_MS);
  });

  it('takes as long as a refusal of a password source, for its users and all others, for an hour', async (t) => {
    let refusalMs = 900;
    const user = await userAtSource(t, () => refusalMs);
    for (const one of [user, ...(await everybody({ own: OWN }))]) assert.equal(await timeOf(one), 3 * STEP_MS);
    refusalMs = 10;
    assert.equal(await timeOf(user), 3 * STEP_MS, 'a quick refusal');
    await api.deps.pool.query(`update password_sources set slow_at = now() - interval '61 minutes' where slow_ms > 0`);
    for (const one of [user, ...(await everybody({ own: OWN }))]) assert.equal(await timeOf(one), STEP_MS);
  });

  it('lets one source make all others wait for two seconds at most', async (t) => {
    const user = await userAtSource(t, () => 9000);
    await timeOf(user);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 5 * STEP_MS);
  });

  it('does not wait after the right password of a locked user', async () => {
    assert.equal(await timeOf(await userWith(OWN, 'locked'), RIGHT), checkMs(OWN));
  });

  it('is long from the creation of a user with an expensive hash', async () => {
    const { orgId, userId } = org;
    const name = unique('bob');
    const email = { email: `${name}@example.com`, isVerified: true };
    const profile = { givenName: 'Bob', familyName: 'Bee' };
    const human = {
      organization: { orgId },
      username: name,
      profile,
      email,
      hashedPassword: { hash: HASHES.bcrypt12 },
    };
    assert.equal((await api.call('POST', '/v2beta/users/human', human)).status, 200);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 2 * STEP_MS);
    const change = { password: { hashedPassword: { hash: HASHES.bcrypt14 } } };
    assert.equal((await api.call('PUT', `/v2beta/users/human/${userId}`, change)).status, 200);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 4 * STEP_MS);
  });

  it('is long from the acceptance of an import with an expensive hash, but not of a dry run', async () => {
    const user = (value: string) => ({
      userName: unique('eve'),
      profile: { firstName: 'Eve', lastName: 'Ex' },
      email: { email: 'eve@example.com', isEmailVerified: true },
      hashedPassword: { value },
    });
    const humanUsers = [OWN, HASHES.bcrypt12, HASHES.md5].map((value) => ({ user: user(value) }));
    const body = { dataOrgs: { orgs: [{ orgId: org.orgId, humanUsers }] }, timeout: '1h' };
    const send = (query: string) => api.call('POST', `/admin/v1/import${query}`, body);
    assert.equal((await send('?dryRun=true')).status, 202);
    assert.equal(await timeOf({ loginName: unique('nobody') }), STEP_MS);
    assert.equal((await send('')).status, 202);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 2 * STEP_MS);
  });

  it('is short again when no such hash was in use for 90 days', async () => {
    await rememberSlow(api.deps.pool, 1200);
    await api.deps.pool.query(`update slow_hashes set seen_at = now() - interval '91 days'`);
    assert.equal(await timeOf({ loginName: unique('nobody') }), STEP_MS);
    await rememberSlow(api.deps.pool, 1200);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 3 * STEP_MS);
  });

  it('is not as long as the most expensive hash, which one organization imports for all others', async () => {
    await rememberSlow(api.deps.pool, 4900);
    assert.equal(await timeOf({ loginName: unique('nobody') }), 5 * STEP_MS);
  });
});

test('a check that takes longer than expected is answered after a multiple of the time', () => {
  const load = { slowestMs: 0, slowness: 1 };
  const times = [0, 499, 500, 501, 1700].map((spent) => answerAfterMs(spent, load, DELAY_MS));
  assert.deepEqual(times, [500, 500, 500, 1000, 2000]);
});
