/**
 * What a stranger learns by asking for codes and guessing them: nothing. No clock is read: the answers are the same, and
 * so is all work before them.
 */
import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { addHuman, addVerified, humanRow } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { waitFor } from '../../support/wait.ts';
import { addClient, comparable, hiddenOf, type Shown } from '../pages/visitor.ts';
import { type Asks, openAsks, other } from './asks.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
let asks: Asks;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', TRUST_PROXY: '1' };
  api = await startApi({ env: { ...env, LOCK_AFTER_FAILURES: '0' } });
  org = await api.setupOrg();
  asks = openAsks(api, await addClient(api), (await api.setupOrg()).orgId);
});
after(() => api.stop());

const setState = (userId: string, state: string) =>
  api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);

/** Everybody of whom a stranger may ask, by what they are. Only the first gets a code. */
async function everybody(): Promise<Record<string, string>> {
  const [locked, inactive] = [await addHuman(api, org.orgId), await addHuman(api, org.orgId)];
  await setState(locked, 'locked');
  await setState(inactive, 'inactive');
  const leftOut = await addHuman(api, org.orgId);
  const put = await api.call('PUT', `/v2beta/users/${leftOut}/mail_codes`, { allowed: false });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  return {
    allowed: await addHuman(api, org.orgId),
    unknown: 'nobody',
    locked,
    inactive,
    'left out of mail codes': leftOut,
    'not allowed by the policy': await addVerified(api, org.orgId, PASSWORD),
    'without a proven address': await addHuman(api, org.orgId, PASSWORD),
    'a machine': (await api.machine(org.orgId)).userId,
  };
}

/** What happens from now on, in its order: statements, transactions, hashes, and the ends of answers. */
function watched(t: TestContext): string[] {
  const { pool, hasher } = api.deps;
  const events: string[] = [];
  const record = (of: object, name: string, told: (given: unknown[]) => string) => {
    const call = (of as Record<string, (...given: unknown[]) => unknown>)[name] as (...given: unknown[]) => unknown;
    t.mock.method(of as Record<string, () => unknown>, name, function recorded(this: unknown, ...given: unknown[]) {
      events.push(told(given));
      return call.apply(this, given);
    });
  };
  record(pool, 'query', ([query]) => {
    const { text = query } = query as pg.QueryConfig;
    return `statement ${String(text).replace(/\s+/g, ' ')}`;
  });
  record(pool, 'connect', () => 'connection');
  for (const name of ['hash', 'verify', 'verifyNothing'] as const) record(hasher, name, () => `hash ${name}`);
  record(ServerResponse.prototype, 'end', () => 'ANSWER');
  return events;
}

describe('"Email me a code"', () => {
  it('does the same before its answer for everybody, and all else after it', async (t) => {
    const people = await everybody();
    const browsers = await Promise.all(Object.keys(people).map((_, n) => asks.browser(`198.51.100.${n}`)));
    const events = watched(t);
    const work = new Map<string, string[]>();
    for (const [n, [what, loginName]] of Object.entries(people).entries()) {
      events.length = 0;
      const shown = await browsers[n]?.ask(loginName);
      assert.equal(shown?.status, 200, what);
      work.set(what, events.slice(0, events.indexOf('ANSWER')));
      // What comes after the answer has begun then, and takes a connection.
      await setImmediate();
      await waitFor(() => api.deps.pool.idleCount === api.deps.pool.totalCount, { what: 'idle connections' });
    }
    const ofUnknown = work.get('unknown') ?? [];
    assert.ok(
      ofUnknown.some((event) => event.includes('from users')),
      'the user is looked up',
    );
    assert.ok(!ofUnknown.some((event) => event.startsWith('hash')));
    for (const [what, done] of work) assert.deepEqual(done, ofUnknown, what);
    await asks.settled();
    for (const [what, loginName] of Object.entries(people))
      assert.equal(await asks.codes(loginName), what === 'allowed' ? 1 : 0, what);
  });

  it('answers while nothing can be written about the user', async () => {
    const userId = await addHuman(api, org.orgId);
    const { ask } = await asks.browser();
    const client = await api.deps.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from users where id = $1 for update', [userId]);
      assert.equal((await ask(userId)).status, 200);
      assert.equal(await asks.codes(userId), 0);
    } finally {
      await client.query('rollback');
      client.release();
    }
    assert.match(await asks.mailed(userId), /^\d{8}$/);
  });
});

describe('a code by mail', () => {
  /** Somebody who asked in this browser, and got this code. */
  async function asked(): Promise<{ userId: string; code: string } & Awaited<ReturnType<Asks['browser']>>> {
    const userId = await addHuman(api, org.orgId);
    const browser = await asks.browser();
    await browser.ask(userId);
    return { ...browser, userId, code: await asks.mailed(userId) };
  }
  const isIn = ({ status, headers }: Shown) => status === 303 && !`${headers.get('location')}`.includes('/ui/');
  const isRefused = ({ status, text }: Shown) => status === 400 && text.includes('The code is wrong');
  const browsersOf = async (userId: string) => {
    const path = `/v2beta/users/${encodeURIComponent(userId)}/logins`;
    return (await api.call('GET', path)).body.result.length;
  };

  it('has 8 digits', async () => {
    assert.match((await asked()).code, /^\d{8}$/);
  });

  it('works for ten minutes', async () => {
    const { userId, code, enter } = await asked();
    const text = `select extract(epoch from c.expires_at - m.created_at)::int as s
      from codes c join mail_outbox m on m.code_id = c.id where c.user_id = $1`;
    assert.deepEqual((await api.deps.pool.query(text, [userId])).rows, [{ s: 600 }]);
    await api.deps.pool.query(`update codes set expires_at = now() where user_id = $1`, [userId]);
    assert.ok(isRefused(await enter(userId, code)));
  });

  it('takes five tries', async () => {
    const { userId, code, enter } = await asked();
    for (let n = 0; n < 4; n++) assert.ok(isRefused(await enter(userId, other(code))));
    const fourth = await asked();
    for (let n = 0; n < 5; n++) assert.ok(isRefused(await fourth.enter(fourth.userId, other(fourth.code))));
    assert.ok(isRefused(await fourth.enter(fourth.userId, fourth.code)), 'after five');
    assert.ok(isIn(await enter(userId, code)), 'after four');
  });

  it('is mailed only so often to a user, from a network and from all', async () => {
    const userId = await addHuman(api, org.orgId);
    const count = async (address: string, times: number) => {
      for (let n = 0; n < times; n++) await (await asks.browser(address)).ask(userId);
      await asks.settled();
      return asks.codes(userId);
    };
    assert.equal(await count('203.0.113.10', 7), 6, 'five from the network, and the one of the hour');
    assert.equal(await count('203.0.113.10', 3), 6);
    const ofAll = await count('203.0.113.11', 7);
    assert.ok(ofAll > 6 && ofAll <= api.deps.config.RATE_LIMIT_MAILS + 1, `${ofAll}`);
    assert.equal(await count('203.0.113.12', 3), await asks.codes(userId), 'no more of the day');
  });

  it('ends when a newer one is mailed', async () => {
    const { userId, code, ask, enter } = await asked();
    await ask(userId);
    const newer = await asks.mailed(userId, 2);
    assert.ok(isRefused(await enter(userId, code)));
    assert.ok(isIn(await enter(userId, newer)));
  });

  it('has the same answer for unknown names, before and after it', async () => {
    const pages = new Set<string>();
    for (const loginName of Object.values(await everybody())) {
      const { ask, enter } = await asks.browser();
      const shown = [await ask(loginName), await enter(loginName, '12345678')];
      pages.add(shown.map((page) => `${page.status} ${comparable(page).replaceAll(loginName, 'NAME')}`).join('\n'));
    }
    assert.equal(pages.size, 1);
  });

  it('works only in the browser that asked', async () => {
    const { userId, code, enter } = await asked();
    assert.ok(isRefused(await (await asks.browser()).enter(userId, code)));
    assert.ok(isIn(await enter(userId, code)));
  });

  it('is consumed by no GET', async () => {
    const { userId, code, by, path, enter } = await asked();
    for (const query of ['', `?step=mail-code&loginName=${userId}&code=${code}`]) {
      assert.equal((await by.get(path + query)).status, 200);
      assert.equal(await browsersOf(userId), 0);
    }
    assert.ok(isIn(await enter(userId, code)));
  });

  it('asks users with a second factor for it, and opens nothing before', async () => {
    const { userId, code, send, enter } = await asked();
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    const page = await enter(userId, code);
    assert.equal(page.status, 200);
    assert.ok(page.text.includes('Enter your code'));
    assert.equal(await browsersOf(userId), 0);
    const { proof = '' } = hiddenOf(page, 'code');
    assert.ok(isIn(await send({ step: 'code', proof, code: codeAt(secret) })));
    const text = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    assert.deepEqual((await api.deps.pool.query(text, [userId])).rows, [{ amr: ['otp', 'mfa'] }]);
  });

  for (const state of ['locked', 'inactive']) {
    it(`gives a user who is ${state} no session, and changes nothing for them`, async () => {
      const { userId, code, ask, enter } = await asked();
      await setState(userId, state);
      assert.equal((await enter(userId, code)).status, 400);
      assert.equal(await browsersOf(userId), 0);
      assert.equal((await humanRow(api, userId)).state, state);
      assert.equal((await humanRow(api, userId)).email_verified, false);
      await ask(userId);
      await asks.settled();
      assert.equal(await asks.codes(userId), 1, 'and mails no other');
      await setState(userId, 'active');
      assert.ok(isRefused(await enter(userId, code)), 'the code is used up');
    });
  }
});
