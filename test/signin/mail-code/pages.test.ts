/** A code by mail on the sign-in pages: who gets one, what it opens, and what strangers cannot do with it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addHuman, addVerified, humanRow } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { addClient, comparable, hiddenOf, visitor } from '../pages/visitor.ts';
import { type Asks, openAsks, other } from './asks.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
let asks: Asks;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', TRUST_PROXY: '1' };
  api = await startApi({ env: { ...env, LOCK_AFTER_FAILURES: '0' } });
  asks = openAsks(api, await addClient(api), (await api.setupOrg()).orgId);
});
beforeEach(async () => {
  await api.deps.pool.query('truncate attempt_counts');
  org = await api.setupOrg();
});
after(() => api.stop());

const POLICY = '/management/v1/policies/login';
const setPolicy = async (policy: object, orgId = org.orgId) =>
  assert.equal((await api.call('PUT', POLICY, policy, { orgId })).status, 200);

const browser: Asks['browser'] = (...given) => asks.browser(...given);
const codes: Asks['codes'] = (userId) => asks.codes(userId);
const mailed: Asks['mailed'] = (...given) => asks.mailed(...given);
const settled: Asks['settled'] = () => asks.settled();

async function mails(userId: string, kind: string): Promise<number> {
  const text = 'select count(*)::int as n from mail_outbox where user_id = $1 and kind = $2';
  return (await api.deps.pool.query(text, [userId, kind])).rows[0].n;
}

const state = async (userId: string) => {
  const { state: now, email_verified } = await humanRow(api, userId);
  return [now, email_verified];
};

describe('a sign-in with a code by mail', () => {
  it('asks for the name, then for a password or a code, and lets an INITIAL user in, who is ACTIVE then', async () => {
    const userId = await addHuman(api, org.orgId);
    const { by, path, send, ask, enter } = await browser();
    const first = await by.get(path);
    assert.ok(!first.text.includes('type="password"') && first.text.includes('>Continue<'));
    const second = await send({ step: 'password', loginName: userId });
    assert.equal(second.status, 200);
    assert.ok(second.text.includes('type="password"') && second.text.includes('>Email me a code<'));
    const third = await ask(userId);
    assert.deepEqual([third.status, third.text.includes('<h1>Check your email</h1>')], [200, true]);
    const code = await mailed(userId);
    assert.match(code, /^\d{8}$/);
    await by.get(path);
    const sent = await enter(userId, ` ${code.slice(0, 4)} ${code.slice(4)} `);
    assert.equal(sent.status, 303);
    const back = await by.get(new URL(sent.headers.get('location') ?? '').pathname);
    assert.match(back.headers.get('location') ?? '', /[?&]code=/);
    assert.deepEqual(await state(userId), ['active', true]);
    const audit = `select payload from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    assert.deepEqual((await api.deps.pool.query(audit, [userId])).rows, [{ payload: { amr: ['otp'] } }]);

    const again = await browser();
    await again.ask(userId);
    assert.equal((await again.enter(userId, await mailed(userId, 2))).status, 303, 'no password is needed afterwards');
  });

  it('shows the same pages to everybody, and mails only those who may use a code', async () => {
    const initial = await addHuman(api, org.orgId);
    const withPassword = await addVerified(api, org.orgId, PASSWORD);
    const locked = await addHuman(api, org.orgId);
    const inactive = await addHuman(api, org.orgId);
    for (const [id, now] of [
      [locked, 'locked'],
      [inactive, 'inactive'],
    ])
      await api.deps.pool.query('update users set state = $2 where id = $1', [id, now]);
    const { userId: machine } = await api.machine(org.orgId);
    const shown = new Set<string>();
    for (const loginName of [initial, withPassword, locked, inactive, machine, 'nobody', 'a\0b', 'x'.repeat(501)]) {
      const { send, ask, enter } = await browser();
      const pages = [
        await send({ step: 'password', loginName }),
        await ask(loginName),
        await enter(loginName, '12345678'),
      ];
      if (loginName.length > 500 || loginName.includes('\0')) pages.pop();
      shown.add(
        pages.map((page) => `${page.status} ${comparable(page).replaceAll(escaped(loginName), 'NAME')}`).join('\n'),
      );
    }
    await settled();
    assert.equal(shown.size, 2, 'without and with the last page');
    const got = await Promise.all([initial, withPassword, locked, inactive, machine].map((id) => codes(id)));
    assert.deepEqual(got, [1, 0, 0, 0, 0]);
  });

  it('goes by the policy of the organization', async () => {
    const [without, withPassword] = [await addHuman(api, org.orgId), await addVerified(api, org.orgId, PASSWORD)];
    const unverified = await addHuman(api, org.orgId, PASSWORD);
    const askAll = async () => {
      for (const id of [without, withPassword, unverified]) await (await browser()).ask(id);
      await settled();
      return Promise.all([without, withPassword, unverified].map((id) => codes(id)));
    };
    await setPolicy({ mailCode: 'off' });
    assert.deepEqual(await askAll(), [0, 0, 0]);
    await setPolicy({ mailCode: 'withoutPassword' });
    assert.deepEqual(await askAll(), [1, 0, 0]);
    await setPolicy({ mailCode: 'all' });
    assert.deepEqual(await askAll(), [2, 1, 0]);
    assert.equal(await mails(unverified, 'verify_email'), 1, 'whose address is verified first');
    const named = { organization: org.orgId };
    const page = async () =>
      (await (await browser('192.0.2.1', named)).send({ step: 'password', loginName: 'x' })).text;
    assert.ok((await page()).includes('Email me a code'));
    await setPolicy({ mailCode: 'off' });
    const without2 = await page();
    assert.ok(!without2.includes('Email me a code') && without2.includes('No password yet?'));
    const { ask, enter } = await browser();
    await setPolicy({ mailCode: 'all' });
    await ask(withPassword);
    const code = await mailed(withPassword, 2);
    await setPolicy({ mailCode: 'off' });
    assert.equal((await enter(withPassword, code)).status, 400, 'a code that was asked for before');
  });

  it('does not let an organization relax it for an IAM_OWNER', async () => {
    const owner = await addVerified(api, org.orgId, PASSWORD);
    await api.call('POST', '/admin/v1/members', { userId: owner, roles: ['IAM_OWNER'] });
    await setPolicy({ mailCode: 'all' });
    await (await browser()).ask(owner);
    await settled();
    assert.equal(await codes(owner), 0);
    await api.call('PUT', '/admin/v1/policies/login', { mailCode: 'all' });
    await (await browser()).ask(owner);
    await mailed(owner);
    await setPolicy({ mailCode: 'off' });
    await (await browser()).ask(owner);
    await settled();
    assert.equal(await codes(owner), 1);
    await api.call('PUT', '/admin/v1/policies/login', { mailCode: 'withoutPassword' });
  });

  it('finds an address that is not verified, of one user of the organization', async () => {
    const address = `${org.orgId}@example.com`;
    const [userId, twin] = [await addHuman(api, org.orgId), await addHuman(api, org.orgId)];
    const give = (id: string) =>
      api.deps.pool.query('update users set email = $2, email_key = lower($2) where id = $1', [id, address]);
    await give(userId);
    const { ask, enter } = await browser();
    await ask(address.toUpperCase());
    const code = await mailed(userId);
    assert.equal((await enter(address.toUpperCase(), code)).status, 303);
    await give(twin);
    await api.deps.pool.query('update users set email_verified = false where id = $1', [userId]);
    await (await browser()).ask(address);
    await settled();
    assert.deepEqual([await codes(userId), await codes(twin)], [1, 0]);
  });

  it('still asks for the second factor, and says so in amr', async () => {
    const userId = await addHuman(api, org.orgId);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    const { send, ask, enter } = await browser();
    await ask(userId);
    const code = await mailed(userId);
    const page = await enter(userId, code);
    assert.deepEqual([page.status, page.text.includes('Enter your code')], [200, true]);
    assert.equal((await enter(userId, code)).status, 400, 'the code is used');
    const { proof = '' } = hiddenOf(page, 'code');
    assert.equal((await send({ step: 'code', proof, code: codeAt(secret) })).status, 303);
    const audit = `select payload from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    assert.deepEqual((await api.deps.pool.query(audit, [userId])).rows, [{ payload: { amr: ['otp', 'mfa'] } }]);
  });

  it('is not stopped by a password that has expired, and asks for the factor that a policy requires', async () => {
    await setPolicy({ mailCode: 'all', forceMfa: true });
    const userId = await addVerified(api, org.orgId, PASSWORD);
    await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const { ask, enter } = await browser();
    await ask(userId);
    const page = await enter(userId, await mailed(userId));
    assert.match(page.text, /Set up a second factor/);
    await setPolicy({ forceMfa: false });
    const later = await browser();
    await later.ask(userId);
    assert.equal((await later.enter(userId, await mailed(userId, 2))).status, 303);
  });

  it('neither unlocks nor reactivates', async () => {
    for (const [stopped, words] of [
      ['locked', 'is locked'],
      ['inactive', 'is deactivated'],
    ] as const) {
      const userId = await addHuman(api, org.orgId);
      const { ask, enter } = await browser();
      await ask(userId);
      const code = await mailed(userId);
      await api.deps.pool.query('update users set state = $2 where id = $1', [userId, stopped]);
      const page = await enter(userId, code);
      assert.deepEqual([page.status, page.text.includes(words)], [400, true]);
      assert.deepEqual(await state(userId), [stopped, false]);
    }
  });
});

describe('a code by mail', () => {
  it('is right only in the browser that asked, once, and until a newer one is sent', async () => {
    const userId = await addHuman(api, org.orgId);
    const [mine, theirs] = [await browser(), await browser()];
    await mine.ask(userId);
    const code = await mailed(userId);
    assert.equal((await theirs.enter(userId, code)).status, 400);
    const forged = await theirs.by.post(mine.path, { step: 'mail-code', loginName: userId, code });
    assert.equal(forged.status, 410);
    await theirs.ask(userId);
    const newer = await mailed(userId, 2);
    assert.equal((await theirs.enter(userId, code)).status, 400, 'the one of the other browser');
    assert.equal((await mine.enter(userId, code)).status, 400, 'a newer one has been sent');
    assert.equal((await mine.enter(userId, newer)).status, 400);
    await mine.ask(userId);
    const last = await mailed(userId, 3);
    const both = await Promise.all([mine.enter(userId, last), mine.enter(userId, last)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [303, 400]);
  });

  it('is tried five times, also by parallel guesses', async () => {
    const userId = await addHuman(api, org.orgId);
    const { ask, enter } = await browser();
    await ask(userId);
    const code = await mailed(userId);
    const wrong = await Promise.all(Array.from({ length: 5 }, () => enter(userId, other(code))));
    assert.deepEqual(
      wrong.map(({ status }) => status),
      Array(5).fill(400),
    );
    const right = await enter(userId, code);
    assert.equal(right.status, 400);
    assert.match(right.text, /After five wrong ones/);
    assert.deepEqual(await state(userId), ['initial', false]);
  });

  it('expires after ten minutes, and ends with the address and with a new password', async () => {
    for (const end of [
      `update codes set expires_at = expires_at - interval '10 minutes' where user_id = $1`,
      'email',
      'password',
    ]) {
      const userId = await addHuman(api, org.orgId);
      const { ask, enter } = await browser();
      await ask(userId);
      const code = await mailed(userId);
      const path = `/v2beta/users/${encodeURIComponent(userId)}`;
      if (end === 'email')
        await api.call('POST', `${path}/email`, { email: `new.${org.orgId}@example.com`, isVerified: true });
      else if (end === 'password')
        await api.call('POST', `${path}/password`, { newPassword: { password: 'battery staple' } });
      else await api.deps.pool.query(end, [userId]);
      assert.equal((await enter(userId, code)).status, 400, end);
    }
  });

  it('drops the mails that are due before, and keeps no new address that was not confirmed', async () => {
    const userId = await addHuman(api, org.orgId);
    const text = `with code as (insert into codes (user_id, purpose, expires_at) values ($1, $2, now() + interval '1 day') returning id)
      insert into mail_outbox (user_id, kind, code_id) select $1, $2, id from code`;
    await api.deps.pool.query(text, [userId, 'initialise']);
    const { ask, enter } = await browser();
    await ask(userId);
    assert.equal((await enter(userId, await mailed(userId))).status, 303);
    assert.equal(await mails(userId, 'initialise'), 0);
  });

  it('cannot be guessed by asking in many browsers', async () => {
    const locking = await startApi({
      env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' },
    });
    try {
      const here = await locking.setupOrg();
      const userId = await addHuman(locking, here.orgId);
      const client = await addClient(locking);
      const statuses: number[] = [];
      for (let i = 0; i < 3; i++) {
        const by = visitor(locking);
        const path = await by.begin(client);
        const { token = '' } = hiddenOf(await by.get(path), 'password');
        await by.post(path, { token, step: 'password', loginName: userId, way: 'code' });
        for (let n = 0; n < 5; n++) {
          const page = await by.post(path, { token, step: 'mail-code', loginName: userId, code: '00000000' });
          statuses.push(page.status);
        }
      }
      assert.deepEqual(statuses, [...Array(10).fill(400), ...Array(5).fill(429)]);
    } finally {
      await locking.stop();
    }
  });
});

describe('strangers who ask for codes', () => {
  const flood = async (userId: string, address: string, times: number) => {
    for (let i = 0; i < times; i++) await (await browser(address)).ask(userId);
    await settled();
  };

  it('do not keep the owner out, who may enter the code that was mailed last', async () => {
    const userId = await addHuman(api, org.orgId);
    for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) await flood(userId, address, 6);
    const sent = await codes(userId);
    assert.ok(sent <= 11, `${sent} mails`);
    const mine = await browser();
    await mine.ask(userId);
    await settled();
    assert.equal(await codes(userId), sent);
    assert.equal((await mine.enter(userId, await mailed(userId))).status, 303);

    const known = await browser();
    await known.ask(userId);
    const code = await mailed(userId, sent + 1);
    assert.equal((await known.enter(userId, code)).status, 303, 'a network of theirs has its own count');
  });

  it('from one network use up only what that network has', async () => {
    const userId = await addHuman(api, org.orgId);
    await flood(userId, '198.51.100.1', 8);
    const sent = await codes(userId);
    assert.equal(sent, 6, 'five, and that of the hour');
    const mine = await browser();
    await mine.ask(userId);
    assert.equal((await mine.enter(userId, await mailed(userId, sent + 1))).status, 303);
  });

  it('get no code for anybody, once their network has asked too often', async () => {
    const { ask } = await browser('198.51.100.77');
    assert.equal((await ask('nobody')).status, 200);
    await api.deps.pool.query('update attempt_counts set attempts = 300');
    for (const name of ['nobody', await addHuman(api, org.orgId)]) assert.equal((await ask(name)).status, 429);
  });
});

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;');
}
