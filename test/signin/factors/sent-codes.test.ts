/** Codes by text message and by mail after the password, for users who had this factor in the system before. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import { addVerified } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { deliverTexts, type SmsGateway, startSmsGateway } from '../../support/sms.ts';
import { other } from '../mail-code/asks.ts';
import { addClient, hiddenOf, type Shown } from '../pages/visitor.ts';
import { newNumber, openTexts, type Phone, type Texts } from '../sms-code/texts.ts';

const PASSWORD = 'correct horse';

let gateway: SmsGateway;
let api: TestApi;
let org: SetUp;
let texts: Texts;
before(async () => {
  gateway = await startSmsGateway();
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, TRUST_PROXY: '1', SMS_URL: gateway.url } });
  texts = openTexts(api, await addClient(api), (await api.setupOrg()).orgId);
});
beforeEach(async () => {
  await api.deps.pool.query('truncate attempt_counts');
  org = await api.setupOrg();
  await deliverTexts(api.deps, gateway.url);
  gateway.requests.length = 0;
});
after(async () => {
  await api.stop();
  await gateway.stop();
});

const isIn = ({ status, headers }: Shown) => status === 303 && !`${headers.get('location')}`.includes('/ui/');
const query = (text: string, values: unknown[]) => api.deps.pool.query(text, values);

/** Somebody with a verified address and number, and these factors. */
async function person(factors: { sms?: boolean; mail?: boolean }): Promise<{ userId: string; phone: string }> {
  const [userId, phone] = [await addVerified(api, org.orgId, PASSWORD), newNumber()];
  await query('update users set phone = $2, phone_verified = true where id = $1', [userId, phone]);
  const text = 'insert into user_factors (user_id, otp_sms, otp_email) values ($1, $2, $3)';
  await query(text, [userId, factors.sms ?? false, factors.mail ?? false]);
  return { userId, phone };
}

async function typePassword(browser: Phone, userId: string): Promise<Shown> {
  return browser.send({ step: 'password', loginName: userId, password: PASSWORD });
}

async function newest(userId: string, kind: string): Promise<string> {
  const text = 'select code_id from mail_outbox where user_id = $1 and kind::text = $2 order by id desc limit 1';
  return digitsOf(api.deps.secrets.code((await query(text, [userId, kind])).rows[0].code_id, 0));
}

async function amrOf(userId: string): Promise<unknown> {
  const text = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
  return (await query(text, [userId])).rows.map(({ amr }) => amr);
}

const enter = (browser: Phone, page: Shown, factor: string, code: string) =>
  browser.send({ step: 'code', proof: hiddenOf(page, 'code').proof ?? '', factor, code });

describe('a code by text message after the password', () => {
  it('comes to the gateway, is right once and in this browser, and lets the user in', async () => {
    const { userId, phone } = await person({ sms: true });
    const [mine, theirs] = [await texts.browser(), await texts.browser()];
    const page = await typePassword(mine, userId);
    assert.ok(page.text.includes('<h1>Check your phone</h1>'), page.text);
    assert.ok(page.text.includes('Text me a new code'));
    await deliverTexts(api.deps, gateway.url);
    const code = await newest(userId, 'factor_text');
    assert.deepEqual([gateway.requests.length, gateway.requests[0]?.body.to], [1, phone]);
    assert.ok(gateway.requests[0]?.body.text.includes(`${code} is your code to sign in.`));
    const wrong = await enter(mine, page, 'otpSms', other(code));
    assert.deepEqual([wrong.status, wrong.text.includes('The code is wrong')], [400, true]);
    assert.ok(isIn(await enter(mine, page, 'otpSms', code)));
    assert.deepEqual(await amrOf(userId), [['pwd', 'sms', 'mfa']]);

    const again = await typePassword(theirs, userId);
    assert.equal((await enter(theirs, again, 'otpSms', code)).status, 400, 'it is used');
    assert.equal((await enter(theirs, again, 'otpEmail', code)).status, 400, 'a factor that they do not have');
  });

  it('is sent again on request, five times an hour, and then the newest one stays right', async () => {
    const { userId } = await person({ sms: true });
    const browser = await texts.browser();
    const page = await typePassword(browser, userId);
    const proof = hiddenOf(page, 'code').proof ?? '';
    for (let n = 0; n < 7; n++) await browser.send({ step: 'other-factor', proof, factor: 'otpSms' });
    await deliverTexts(api.deps, gateway.url);
    assert.equal(await texts.count(userId), 5);
    assert.ok(isIn(await enter(browser, page, 'otpSms', await newest(userId, 'factor_text'))));
  });

  it('is still demanded where it cannot be sent, and an administrator helps', async () => {
    const { userId } = await person({ sms: true });
    await query('update users set phone_verified = false where id = $1', [userId]);
    const page = await typePassword(await texts.browser(), userId);
    assert.deepEqual([page.status, page.text.includes('Your administrator can help')], [400, true]);
    assert.equal(await texts.count(userId), 0);
    const session = { checks: { user: { userId }, password: { password: PASSWORD } } };
    assert.equal((await api.call('POST', '/v2beta/sessions', session)).status, 400);
  });

  it('ends with the number', async () => {
    const { userId } = await person({ sms: true });
    const browser = await texts.browser();
    const page = await typePassword(browser, userId);
    const code = await newest(userId, 'factor_text');
    const changed = await api.call('POST', `/v2beta/users/${userId}/phone`, { phone: newNumber(), isVerified: true });
    assert.equal(changed.status, 200);
    assert.equal((await enter(browser, page, 'otpSms', code)).status, 400);
  });
});

describe('a code by mail after the password', () => {
  it('is mailed with a warning, chosen among others, and lets the user in', async () => {
    const { userId } = await person({ sms: true, mail: true });
    const browser = await texts.browser();
    const first = await typePassword(browser, userId);
    const proof = hiddenOf(first, 'code').proof ?? '';
    const page = await browser.send({ step: 'other-factor', proof, factor: 'otpEmail' });
    assert.ok(page.text.includes('<h1>Check your email</h1>'));
    assert.ok(page.text.includes('Text me a code') && page.text.includes('Email me a new code'));
    assert.ok(isIn(await enter(browser, page, 'otpEmail', await newest(userId, 'factor_mail'))));
    assert.deepEqual(await amrOf(userId), [['pwd', 'otp', 'mfa']]);
  });

  it('is no second factor where a code by mail was the first', async () => {
    const policy = await api.call('PUT', '/management/v1/policies/login', { mailCode: 'all' }, { orgId: org.orgId });
    assert.equal(policy.status, 200);
    const { userId } = await person({ mail: true });
    const browser = await texts.browser();
    await browser.send({ step: 'password', loginName: userId, password: '', way: 'code' });
    await texts.settled();
    const code = await newest(userId, 'sign_in');
    const page = await browser.send({ step: 'mail-code', loginName: userId, code });
    assert.deepEqual([page.status, page.text.includes('Your administrator can help')], [400, true]);
  });
});
