/** A code by text message on the sign-in pages: who gets one, what it opens, what it costs, and what strangers learn. */
import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { signInNumber } from '../../../src/platform/phone.ts';
import { allowsText, forgetText } from '../../../src/signin/sms-code/limits.ts';
import { humanRow } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { deliverTexts, type SmsGateway, startSmsGateway } from '../../support/sms.ts';
import { codeAt } from '../../support/totp.ts';
import { waitFor } from '../../support/wait.ts';
import { other } from '../mail-code/asks.ts';
import { addClient, comparable, hiddenOf, type Shown } from '../pages/visitor.ts';
import { newNumber, openTexts, type Texts } from './texts.ts';

const PASSWORD = 'correct horse';
const POLICY = '/management/v1/policies/login';
const CAP = 40;

let gateway: SmsGateway;
let api: TestApi;
let org: SetUp;
let clientId: string;
let texts: Texts;
before(async () => {
  gateway = await startSmsGateway();
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', TRUST_PROXY: '1' };
  api = await startApi({
    env: { ...env, LOCK_AFTER_FAILURES: '0', SMS_URL: gateway.url, SMS_PER_DAY: String(CAP) },
  });
  clientId = await addClient(api);
  const apart = await api.setupOrg();
  texts = openTexts(api, clientId, apart.orgId);
});
beforeEach(async () => {
  await api.deps.pool.query('truncate attempt_counts');
  org = await api.setupOrg();
  await setPolicy({ smsCode: 'all' });
  await deliverTexts(api.deps, gateway.url);
  gateway.requests.length = 0;
});
after(async () => {
  await api.stop();
  await gateway.stop();
});

const setPolicy = async (policy: object, orgId = org.orgId) =>
  assert.equal((await api.call('PUT', POLICY, policy, { orgId })).status, 200);
const isIn = ({ status, headers }: Shown) => status === 303 && !`${headers.get('location')}`.includes('/ui/');
const isRefused = ({ status, text }: Shown) => status === 400 && text.includes('The code is wrong');

describe('a sign-in with a phone number', () => {
  it('takes a number that is stored in another form, unless somebody else has it in a third one', async () => {
    const phone = newNumber();
    const parts = [phone.slice(3, 5), phone.slice(5, 8), phone.slice(8)];
    const userId = await texts.human(org.orgId, `tel:+41-${parts.join('-')}`);
    const at = await texts.browser('192.0.2.1', { organization: org.orgId });
    await at.ask(phone);
    const code = await texts.code(userId);
    await deliverTexts(api.deps, gateway.url);
    assert.equal(gateway.requests[0]?.body.to, phone, 'the gateway gets the number as E.164');
    assert.ok(isIn(await at.enter(`+41 ${parts.join(' ')}`, code)));
    await texts.human(org.orgId, `+41 (0)${parts.join(' ')}`);
    const next = await texts.browser('192.0.2.1', { organization: org.orgId });
    await next.ask(phone);
    await texts.settled();
    assert.equal(await texts.count(userId), 1);
  });

  it('knows the same numbers in the program and in the database', async () => {
    const numbers = [
      '+41791234567',
      'tel:+41-79-123-45-67',
      'TEL:+41(79)1234567',
      '+41 (0)79 123 45 67',
      '+(41) 79 123.45.67',
    ];
    const others = ['+39 (0)6 1234 5678', '+410791234567', '0791234567', '+41791234567;ext=1', '+', ''];
    const { rows } = await api.deps.pool.query<{ phone: string; key: string | null }>(
      'select phone, phone_key(phone) as key from unnest($1::text[]) as phone',
      [[...numbers, ...others]],
    );
    for (const { phone, key } of rows) {
      const number = signInNumber(phone);
      assert.equal(number, numbers.includes(phone) ? '+41791234567' : undefined, phone);
      if (number !== undefined) assert.equal(key, number, phone);
    }
  });

  it('gets a text at the gateway, and lets a person without password and address into the application', async () => {
    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    const forget = 'update users set email = null, email_key = null, import_id = null where id = $1';
    await api.deps.pool.query(forget, [userId]);
    const { by, path, send, enter } = await texts.browser('192.0.2.1', { organization: org.orgId });
    assert.match((await by.get(path)).text, /Login name, email, or phone number/);
    const typed = `00${phone.slice(1, 3)} (${phone.slice(3, 5)}) ${phone.slice(5, 8)}-${phone.slice(8)}`;
    const second = await send({ step: 'password', loginName: typed });
    assert.ok(second.text.indexOf('Text me a code') < second.text.indexOf('Email me a code'));
    assert.ok(second.text.includes('Text me a code'));
    const third = await send({ step: 'password', loginName: typed, way: 'text' });
    assert.ok(third.text.includes('<h1>Check your phone</h1>'));
    const code = await texts.code(userId);
    await deliverTexts(api.deps, gateway.url);
    const [request] = gateway.requests;
    assert.deepEqual([gateway.requests.length, request?.body.to], [1, phone]);
    assert.ok(request?.body.text.includes(`${code} is your code to sign in.`), request?.body.text);
    const sent = await enter(typed, ` ${code.slice(0, 4)} ${code.slice(4)}`);
    assert.equal(sent.status, 303);
    const back = await by.get(new URL(sent.headers.get('location') ?? '').pathname);
    assert.match(back.headers.get('location') ?? '', /^https:\/\/app\.example\.com\/callback\?.*code=/);
    const { state, email_verified } = await humanRow(api, userId);
    assert.deepEqual([state, email_verified], ['active', false]);
    const audit = `select payload from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    assert.deepEqual((await api.deps.pool.query(audit, [userId])).rows, [{ payload: { amr: ['sms'] } }]);
  });

  it('is kept as the first way of an imported user', async () => {
    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    const text = `with i as (insert into imports (kind, state, created_by, resource_owner, total)
      values ('bulk', 'succeeded', 'x', 'x', 1) returning id) update users set import_id = (select id from i) where id = $1`;
    await api.deps.pool.query(text, [userId]);
    const { ask, enter } = await texts.browser();
    await ask(phone);
    assert.ok(isIn(await enter(phone, await texts.code(userId))));
    const way = 'select way from first_sign_ins where user_id = $1';
    assert.deepEqual((await api.deps.pool.query(way, [userId])).rows, [{ way: 'sms_code' }]);
  });

  it('goes by the policy, and by who has the number', async () => {
    const [without, withPassword, unverified, twin] = [newNumber(), newNumber(), newNumber(), newNumber()];
    const ids = [
      await texts.human(org.orgId, without),
      await texts.human(org.orgId, withPassword, PASSWORD),
      await texts.human(org.orgId, unverified),
      await texts.human(org.orgId, twin),
      await texts.human(org.orgId, twin),
    ];
    await api.deps.pool.query('update users set phone_verified = false where id = $1', [ids[2]]);
    const askAll = async () => {
      for (const phone of [without, withPassword, unverified, twin]) await (await texts.browser()).ask(phone);
      await (await texts.browser()).ask(ids[3] as string);
      await texts.settled();
      return Promise.all(ids.map((id) => texts.count(id)));
    };
    await setPolicy({ smsCode: 'off' });
    assert.deepEqual(await askAll(), [0, 0, 0, 0, 0]);
    await setPolicy({ smsCode: 'withoutPassword' });
    assert.deepEqual(await askAll(), [1, 0, 0, 0, 0]);
    await setPolicy({ smsCode: 'all' });
    assert.deepEqual(await askAll(), [2, 1, 0, 0, 0]);
    const { ask, enter } = await texts.browser();
    await ask(withPassword);
    const code = await texts.code(ids[1] as string, 2);
    await setPolicy({ smsCode: 'off' });
    assert.ok(isRefused(await enter(withPassword, code)), 'a code that was asked for before');
  });

  it('is possible with the number and the password too', async () => {
    const phone = newNumber();
    await texts.human(org.orgId, phone, PASSWORD);
    const sent = await (await texts.browser()).send({ step: 'password', loginName: phone, password: PASSWORD });
    assert.ok(isIn(sent));
    await setPolicy({ smsCode: 'off' });
    const off = await (await texts.browser()).send({ step: 'password', loginName: phone, password: PASSWORD });
    assert.equal(off.status, 400);
  });

  it('finds the user who had the number first, and no other organization takes it', async () => {
    const phone = newNumber();
    const first = await texts.human(org.orgId, phone);
    const theirs = await api.setupOrg();
    await setPolicy({ smsCode: 'all' }, theirs.orgId);
    const second = await texts.human(theirs.orgId, phone);
    await (await texts.browser()).ask(phone);
    await texts.settled();
    assert.deepEqual([await texts.count(first), await texts.count(second)], [1, 0]);
    await (await texts.browser('192.0.2.1', { organization: theirs.orgId })).ask(phone);
    await texts.settled();
    assert.deepEqual([await texts.count(first), await texts.count(second)], [1, 1], 'where it is named');
  });

  it('is not for those who are left out of codes, locked, deactivated, or an IAM_OWNER against the policy of the instance', async () => {
    const numbers = Array.from({ length: 4 }, newNumber);
    const [leftOut = '', locked = '', inactive = '', owner = ''] = await Promise.all(
      numbers.map((phone) => texts.human(org.orgId, phone)),
    );
    await api.call('PUT', `/v2beta/users/${leftOut}/mail_codes`, { allowed: false });
    for (const [id, state] of [
      [locked, 'locked'],
      [inactive, 'inactive'],
    ])
      await api.deps.pool.query('update users set state = $2 where id = $1', [id, state]);
    await api.call('POST', '/admin/v1/members', { userId: owner, roles: ['IAM_OWNER'] });
    for (const phone of numbers) await (await texts.browser()).ask(phone);
    await texts.settled();
    const got = [leftOut, locked, inactive, owner].map((id) => texts.count(id));
    assert.deepEqual(await Promise.all(got), [0, 0, 0, 0]);
  });

  it('still asks for the second factor, and says so in amr', async () => {
    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    const { send, ask, enter } = await texts.browser();
    await ask(phone);
    const page = await enter(phone, await texts.code(userId));
    assert.deepEqual([page.status, page.text.includes('Enter your code')], [200, true]);
    const { proof = '' } = hiddenOf(page, 'code');
    assert.ok(isIn(await send({ step: 'code', proof, code: codeAt(secret) })));
    const audit = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
    assert.deepEqual((await api.deps.pool.query(audit, [userId])).rows, [{ amr: ['sms', 'otp', 'mfa'] }]);
  });
});

describe('a code by text message', () => {
  it('is right once, in the browser that asked, for ten minutes, for five tries, and until the number changes', async () => {
    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    const [mine, theirs] = [await texts.browser(), await texts.browser()];
    await mine.ask(phone);
    const code = await texts.code(userId);
    assert.ok(isRefused(await theirs.enter(phone, code)));
    assert.ok(isRefused(await mine.send({ step: 'mail-code', loginName: phone, code })), 'it is no code by mail');
    const both = await Promise.all([mine.enter(phone, code), mine.enter(phone, code)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [303, 400]);

    await theirs.ask(phone);
    const second = await texts.code(userId, 2);
    for (let n = 0; n < 5; n++) assert.ok(isRefused(await theirs.enter(phone, other(second))));
    assert.ok(isRefused(await theirs.enter(phone, second)), 'after five');

    for (const [n, end] of ['expires', 'number', 'password'].entries()) {
      const again = await texts.browser(`192.0.2.${n + 10}`);
      await again.ask(phone);
      const last = await texts.code(userId, n + 3);
      const user = `/v2beta/users/${encodeURIComponent(userId)}`;
      if (end === 'expires')
        await api.deps.pool.query('update codes set expires_at = now() where user_id = $1', [userId]);
      if (end === 'number') {
        await api.call('POST', `${user}/phone`, { phone: newNumber(), isVerified: true });
        await api.call('POST', `${user}/phone`, { phone, isVerified: true });
      }
      if (end === 'password')
        await api.call('POST', `${user}/password`, { newPassword: { password: 'battery staple' } });
      assert.ok(isRefused(await again.enter(phone, last)), end);
    }
  });

  it('is sent five times an hour to a number, and the owner may enter the one that was sent last', async () => {
    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    for (let n = 0; n < 8; n++) await (await texts.browser(`198.51.100.${n}`)).ask(phone);
    await texts.settled();
    assert.equal(await texts.count(userId), 5);
    const mine = await texts.browser();
    await mine.ask(phone);
    await texts.settled();
    assert.equal(await texts.count(userId), 5);
    assert.ok(isIn(await mine.enter(phone, await texts.code(userId))));

    for (let n = 0; n < 8; n++) await (await texts.browser(`198.51.100.${n}`)).ask(phone);
    await texts.settled();
    const sent = await texts.count(userId);
    const known = await texts.browser();
    await known.ask(phone);
    assert.ok(isIn(await known.enter(phone, await texts.code(userId, sent + 1))), 'a known network has its own count');
  });
});

it('texts to one number end after thirty in a day, also where each code is entered', async () => {
  for (const isKnown of [false, true]) {
    const user = { id: await texts.human(org.orgId, newNumber()), orgId: org.orgId, phone: newNumber() };
    if (isKnown) {
      const text = 'insert into login_networks (user_id, network, last_login_at) values ($1, $2, now())';
      await api.deps.pool.query(text, [user.id, '77']);
    }
    let sent = 0;
    for (let n = 0; n < 40; n++) {
      const network = { ofUser: '77', any: `network ${n}` };
      if (await allowsText(api.deps.pool, { SMS_PER_DAY: 1000 }, user, network)) sent++;
      await forgetText(api.deps.pool, user);
    }
    assert.equal(sent, 30, isKnown ? 'from a known network' : 'from anywhere');
  }
});

describe('strangers who ask for codes', () => {
  /** People with numbers abroad, who have never signed in. */
  async function abroad(count: number): Promise<string[]> {
    const text = `insert into users (id, org_id, kind, state, user_name, user_name_key, phone, phone_verified, sequence)
      select $1 || '-' || n, $1, 'human', 'initial', 'abroad' || n, 'abroad' || n, '+' || (447911000000 + n + $3), true, 1
      from generate_series(1, $2) n returning phone`;
    const { rows } = await api.deps.pool.query<{ phone: string }>(text, [
      org.orgId,
      count,
      Number(newNumber().slice(-4)) * 300,
    ]);
    return rows.map(({ phone }) => phone);
  }
  const askFor = async (phones: string[], address: (n: number) => string) => {
    const statuses = new Set<number>();
    for (let n = 0; n < phones.length; n += 20) {
      const some = phones.slice(n, n + 20).map(async (phone, i) => (await texts.browser(address(n + i))).ask(phone));
      for (const { status } of await Promise.all(some)) statuses.add(status);
    }
    await texts.settled();
    await deliverTexts(api.deps, gateway.url);
    return [...statuses];
  };

  it('of 200 numbers abroad have at most the cap sent, and leave a part of it to the others', async () => {
    const phones = await abroad(200);
    assert.deepEqual(await askFor(phones, (n) => `198.18.${n}.1`), [200]);
    assert.equal(gateway.requests.length, CAP - CAP / 10);

    const phone = newNumber();
    const userId = await texts.human(org.orgId, phone);
    const { ask } = await texts.browser('203.0.113.4');
    await ask(phone);
    await texts.settled();
    assert.equal(await texts.count(userId), 0, 'from a network that nobody knows');
    const one = await texts.human(org.orgId, newNumber(), PASSWORD);
    const send = () =>
      texts.browser('203.0.113.5').then(({ send }) => send({ step: 'password', loginName: one, password: PASSWORD }));
    assert.ok(isIn(await send()));
    await (await texts.browser('203.0.113.5')).ask(one);
    await texts.code(one);
    await deliverTexts(api.deps, gateway.url);
    assert.ok(gateway.requests.length <= CAP);
  });

  it('have thirty sent from one network in an hour, and no more than the organization allows', async () => {
    assert.deepEqual(await askFor(await abroad(35), () => '198.18.0.1'), [200]);
    assert.equal(gateway.requests.length, 30);
    gateway.requests.length = 0;
    org = await api.setupOrg();
    await setPolicy({ smsCode: 'all' });
    await api.call('PUT', '/management/v1/orgs/me/limits', { smsPerDay: 7 }, { orgId: org.orgId });
    await askFor(await abroad(12), (n) => `198.18.1.${n}`);
    assert.equal(gateway.requests.length, 7);
    const { usage } = (await api.call('GET', '/management/v1/orgs/me/limits', undefined, { orgId: org.orgId })).body;
    assert.equal(usage.smsPerDay, 7);
  });

  it('learn nothing: the answers are the same for everybody, and so is the work before them', async (t) => {
    const people: Record<string, string> = { unknown: newNumber(), name: 'nobody' };
    for (const what of ['allowed', 'locked', 'inactive', 'left out']) {
      const phone = newNumber();
      people[what] = phone;
      const userId = await texts.human(org.orgId, phone);
      if (what === 'left out') await api.call('PUT', `/v2beta/users/${userId}/mail_codes`, { allowed: false });
      if (what === 'locked' || what === 'inactive')
        await api.deps.pool.query('update users set state = $2 where id = $1', [userId, what]);
    }
    const browsers = await Promise.all(Object.keys(people).map((_, n) => texts.browser(`198.51.100.${n}`)));
    const events = watched(t);
    const [work, pages] = [new Map<string, string>(), new Set<string>()];
    for (const [n, [what, loginName]] of Object.entries(people).entries()) {
      events.length = 0;
      const shown = await browsers[n]?.ask(loginName);
      assert.equal(shown?.status, 200, what);
      const form = loginName.startsWith('+') ? 'number' : 'name';
      work.set(what, `${form}: ${events.slice(0, events.indexOf('ANSWER')).join('\n')}`);
      await setImmediate();
      await waitFor(() => api.deps.pool.idleCount === api.deps.pool.totalCount, { what: 'idle connections' });
      const entered = await browsers[n]?.enter(loginName, '12345678');
      pages.add([shown, entered].map((page) => comparable(page as Shown).replaceAll(loginName, 'NAME')).join('\n'));
    }
    assert.ok(work.get('unknown')?.includes('from users'), 'the user is looked up');
    for (const [what, done] of work) if (what !== 'name') assert.equal(done, work.get('unknown'), what);
    assert.equal(pages.size, 1);
  });
});

/** What happens from now on, in its order: statements, transactions, and the ends of answers. */
function watched(t: TestContext): string[] {
  const { pool } = api.deps;
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
  record(ServerResponse.prototype, 'end', () => 'ANSWER');
  return events;
}
