/** Second factors and passkeys at `/account` over HTTP: what the forms do, what they refuse, and what nobody is shown. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addVerified, eventsOf, unsentMails } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { passkey } from '../../support/passkeys.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';
import { optionsOf, storePasskey } from '../passkeys/holder.ts';
import { alertOf } from '../providers/traveller.ts';
import { type AtAccount, atAccount, doneOf } from './person.ts';

const PASSWORD = 'correct horse battery';
const OLD_S = 301;

let api: TestApi;
let org: SetUp;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' };
  api = await startApi({ env: { ...env, SMS_URL: 'http://127.0.0.1:9/' }, host: 'localhost' });
  org = await api.setupOrg();
});
after(() => api.stop());

interface Someone {
  userId: string;
  at: AtAccount;
}

async function person(): Promise<Someone> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  return { userId, at: await atAccount(api, userId, PASSWORD) };
}

const query = (text: string, values: unknown[]) => api.deps.pool.query(text, values);
const withoutPassword = (userId: string) => query('update users set password_hash = null where id = $1', [userId]);
const mailCodes = (mailCode: string) =>
  api.call('PUT', '/management/v1/policies/login', { mailCode }, { orgId: org.orgId });
const tokenIn = (page: { text: string }) => /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? '';

async function factors(userId: string) {
  const { rows } = await query(
    `select (select count(*)::int from user_totp where user_id = $1) as apps,
       (select count(*)::int from user_passkeys where user_id = $1) as keys,
       (select concat_ws(' ', otp_email, otp_sms, recovery_left) from user_factors where user_id = $1) as sent`,
    [userId],
  );
  return rows[0];
}

/** Begins to add an app; the code that it shows then. */
async function beginApp({ at }: Someone) {
  const page = await at.send(await at.open('authenticators'), 'authenticators', 'begin');
  const secret = (/<code class="key">([A-Z2-7 ]+)</.exec(page.text)?.[1] ?? '').replaceAll(' ', '');
  return { page, secret };
}

async function addApp(someone: Someone, name = '') {
  const { page, secret } = await beginApp(someone);
  const added = await someone.at.send(page, 'authenticators', 'confirm', { code: codeAt(secret), name });
  assert.match(doneOf(added), /^The app is added/, alertOf(added));
  return { page: added, secret };
}

/** The forms of the pages; none may work for another browser, or after an old sign-in. */
const FORMS = [
  ['authenticators', 'begin'],
  ['authenticators', 'confirm'],
  ['authenticators', 'remove'],
  ['recovery-codes', 'make'],
  ['sent-codes', 'on'],
  ['sent-codes', 'off'],
  ['passkeys', 'add'],
  ['passkeys', 'name'],
  ['passkeys', 'remove'],
] as const;

describe('the forms for factors', () => {
  it('change nothing without the token of the page, for another site, or after an old sign-in', async () => {
    const [mine, other] = [await person(), await person()];
    const token = tokenIn(await mine.at.open('authenticators'));
    const theirs = tokenIn(await other.at.open('authenticators'));
    const fields = { kind: 'otpEmail', keyId: '1', appId: '1' };
    for (const [section, step] of FORMS) {
      const form = { ...fields, step };
      const evil = await mine.at.post(section, { ...form, token }, { origin: 'https://evil.example' });
      assert.equal(evil.status, 403, `${section} ${step}, another site`);
      assert.equal((await mine.at.post(section, form)).status, 403, `${section} ${step}, no token`);
      assert.equal((await mine.at.post(section, { ...form, token: theirs })).status, 403, `${section} ${step}, other`);
    }
    await mine.at.age(OLD_S);
    for (const [section, step] of FORMS) {
      const { status, headers } = await mine.at.post(section, { ...fields, step, token });
      assert.equal(status, 303);
      assert.match(headers.get('location') ?? '', /\/oauth\/v2\/authorize\?.*max_age=/, `${section} ${step}`);
      assert.match((await mine.at.open(section)).at, /^\/ui\/login\//, section);
    }
    assert.deepEqual(await factors(mine.userId), { apps: 0, keys: 0, sent: null });
  });
});

describe('authenticator apps', () => {
  it('are added with a code of their own, listed, and removed', async () => {
    const someone = await person();
    const { userId, at } = someone;
    const { page, secret } = await beginApp(someone);
    assert.match(page.text, /<svg class="qr"/);
    assert.deepEqual(await factors(userId), { apps: 0, keys: 0, sent: null }, 'nothing is stored yet');
    const wrong = await at.send(page, 'authenticators', 'confirm', { code: wrongCode(secret), name: 'Phone <b>' });
    assert.match(alertOf(wrong), /^The code is wrong/);
    assert.ok(wrong.text.replaceAll(' ', '').includes(secret) && wrong.text.includes('value="Phone &lt;b&gt;"'));
    const long = await at.send(page, 'authenticators', 'confirm', { code: codeAt(secret), name: 'x'.repeat(101) });
    assert.match(alertOf(long), /at most 100 characters/);
    const added = await at.send(wrong, 'authenticators', 'confirm', { code: codeAt(secret), name: 'Phone <b>' });
    assert.match(doneOf(added), /^The app is added/);
    assert.match(
      added.text,
      /<strong>Phone &lt;b&gt;<\/strong><br><span class="small">Added <time datetime="[^"]+">20\d\d-/,
    );
    assert.ok(!added.text.replaceAll(' ', '').includes(secret));
    assert.match((await at.open()).text, /Authenticator apps<\/a><span>1</);
    await addApp(someone, 'Tablet');
    assert.equal((await factors(userId)).apps, 2);
    const gone = await at.send(added, 'authenticators', 'remove');
    assert.match(doneOf(gone), /^The app is removed/);
    assert.ok(!gone.text.includes('Phone') && gone.text.includes('Tablet'));
    assert.match(alertOf(await at.send(added, 'authenticators', 'remove')), /removed already/);
    assert.match(alertOf(await at.send(added, 'authenticators', 'remove', { appId: '' })), /removed already/);
    assert.equal((await factors(userId)).apps, 1);
    const mails = (await unsentMails(api, userId)).filter((kind) => kind.startsWith('factor_'));
    assert.deepEqual(mails, ['factor_added', 'factor_added', 'factor_removed']);
    assert.ok((await eventsOf(api, userId)).includes('user.human.totp.verified'));
  });

  it('are not added with the key of another browser, and a key that a manager began with is shown to nobody', async () => {
    const [mine, other] = [await person(), await person()];
    const theirs = await beginApp(other);
    const key = /name="key" value="([^"]*)"/.exec(theirs.page.text)?.[1] ?? '';
    const page = await mine.at.open('authenticators');
    const form = { token: tokenIn(page), step: 'confirm', key, code: codeAt(theirs.secret) };
    assert.match(alertOf(await mine.at.post('authenticators', form)), /begin again/);
    const made = await api.call('POST', `/v2beta/users/${encodeURIComponent(mine.userId)}/totp`, {});
    assert.equal(made.status, 200);
    assert.ok(!(await mine.at.open('authenticators')).text.includes(made.body.secret.slice(0, 4)));
    assert.notEqual((await beginApp(mine)).secret, made.body.secret);
  });
});

describe('recovery codes', () => {
  it('need a second factor, are ten, shown once, and replace those before', async () => {
    const someone = await person();
    const { userId, at } = someone;
    const none = await at.open('recovery-codes');
    assert.match(none.text, /You need a second factor first/);
    const refused = await at.post('recovery-codes', { token: tokenIn(await at.open('phone')), step: 'make' });
    assert.match(alertOf(refused), /you have none/);
    await addApp(someone);
    const codesIn = ({ text }: { text: string }) =>
      [...text.matchAll(/<code>([0-9A-Z]{5}-[0-9A-Z]{5})</g)].map(([, code]) => code);
    const first = codesIn(await at.send(await at.open('recovery-codes'), 'recovery-codes', 'make'));
    assert.equal(new Set(first).size, 10);
    const page = await at.open('recovery-codes');
    assert.match(page.text, /You have <strong>10 codes<\/strong> left/);
    assert.deepEqual(codesIn(page), []);
    const second = codesIn(await at.send(page, 'recovery-codes', 'make'));
    assert.equal(new Set([...first, ...second]).size, 20);
    assert.match((await at.open()).text, /Recovery codes<\/a><span>10 left</);
    const mails = (await unsentMails(api, userId)).filter((kind) => kind === 'recovery_codes_made');
    assert.equal(mails.length, 2);
  });
});

describe('codes by mail and text message', () => {
  it('are switched on for a confirmed address or number only, and off', async () => {
    const { userId, at } = await person();
    await query('update users set email_verified = false, phone = $2 where id = $1', [userId, '+41791234567']);
    const page = await at.open('sent-codes');
    assert.match(page.text, /confirmed <a href="\/account\/email">email address/);
    assert.match(page.text, /confirmed <a href="\/account\/phone">phone number/);
    const form = { token: tokenIn(await at.open('phone')), step: 'on' };
    for (const kind of ['otpEmail', 'otpSms']) {
      assert.match(alertOf(await at.post('sent-codes', { ...form, kind })), /confirmed email address or phone number/);
    }
    assert.match(alertOf(await at.post('sent-codes', { ...form, kind: 'totp' })), /^Choose the codes/);
    await query('update users set email_verified = true, phone_verified = true where id = $1', [userId]);
    const now = await at.open('sent-codes');
    for (const kind of ['otpEmail', 'otpSms']) {
      assert.match(doneOf(await at.send(now, 'sent-codes', 'on', { kind })), /switched on/);
      assert.match(alertOf(await at.send(now, 'sent-codes', 'on', { kind })), /on already/);
    }
    assert.equal((await factors(userId)).sent, 't t 0');
    assert.match((await at.open()).text, /text message<\/a><span>Email and text message</);
    const both = await at.open('sent-codes');
    assert.match(both.text, /On, to ann@example\.com/);
    for (const kind of ['otpEmail', 'otpSms']) {
      assert.match(doneOf(await at.send(both, 'sent-codes', 'off', { kind })), /switched off/);
      assert.match(alertOf(await at.send(both, 'sent-codes', 'off', { kind })), /off already/);
    }
    assert.equal((await factors(userId)).sent, 'f f 0');
    const mails = (await unsentMails(api, userId)).filter((kind) => kind.startsWith('factor_'));
    assert.deepEqual(mails, ['factor_added', 'factor_added', 'factor_removed', 'factor_removed']);
  });

  it('are no second factor of somebody who signs in by nothing else', async (t) => {
    t.after(() => mailCodes('off'));
    const someone = await person();
    const { userId, at } = someone;
    assert.equal((await mailCodes('withoutPassword')).status, 200);
    await withoutPassword(userId);
    const page = await at.open('sent-codes');
    assert.match(alertOf(await at.send(page, 'sent-codes', 'on', { kind: 'otpEmail' })), /with such codes only/);
    const { page: apps } = await addApp(someone);
    assert.match(doneOf(await at.send(page, 'sent-codes', 'on', { kind: 'otpEmail' })), /switched on/);
    assert.match(alertOf(await at.send(apps, 'authenticators', 'remove')), /could not sign in without this app/);
    assert.equal((await factors(userId)).apps, 1);
  });
});

describe('passkeys', () => {
  it('are added by the answer to the page, named and removed', async () => {
    const { userId, at } = await person();
    const page = await at.open('passkeys');
    assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self';/);
    const key = passkey(`account ${userId}`);
    const options = optionsOf(page) as { challenge: string; rp: { id: string }; user: { id: string } };
    const answer = JSON.stringify(key.register(options, { origin: api.url }));
    const other = await person();
    const stolen = await other.at.send(await other.at.open('passkeys'), 'passkeys', 'add', { answer });
    assert.match(alertOf(stolen), /^No passkey was added/);
    assert.match(alertOf(await at.send(page, 'passkeys', 'add', { answer: '{' })), /^No passkey was added/);
    const added = await at.send(page, 'passkeys', 'add', { answer, name: 'Laptop' });
    assert.match(doneOf(added), /^The passkey is added/, alertOf(added));
    assert.match(
      added.text,
      /<strong>Laptop<\/strong><br><span class="small">Enough to sign in, added <time datetime="[^"]+">20/,
    );
    assert.match(alertOf(await at.send(added, 'passkeys', 'add', { answer })), /^No passkey was added/, 'used');
    const keyId = /name="keyId" value="([^"]*)"/.exec(added.text)?.[1] ?? '';
    const field = `name-${keyId}`;
    const long = await at.send(added, 'passkeys', 'name', { [field]: 'x'.repeat(101) });
    assert.match(alertOf(long), /at most 100 characters/);
    assert.match(long.text, /<details open>/);
    const named = await at.send(added, 'passkeys', 'name', { [field]: 'Work <b>' });
    assert.ok(doneOf(named) !== '' && named.text.includes('<strong>Work &lt;b&gt;</strong>'));
    const form = { token: tokenIn(await other.at.open('passkeys')), step: 'remove', keyId };
    assert.match(alertOf(await other.at.post('passkeys', form)), /removed already/, 'of somebody else');
    assert.match(doneOf(await at.send(added, 'passkeys', 'remove')), /^It is removed/);
    assert.equal((await factors(userId)).keys, 0);
    const mails = (await unsentMails(api, userId)).filter((kind) => kind.startsWith('passkey_'));
    assert.deepEqual(mails, ['passkey_added', 'passkey_removed']);
  });

  it('are shown with their host where they do not work here, and the last way in stays', async () => {
    const { userId, at } = await person();
    await storePasskey(api, userId, passkey(`old ${userId}`, { rpId: 'old.example.org' }));
    await storePasskey(api, userId, passkey(`here ${userId}`, { userHandle: userId }));
    await withoutPassword(userId);
    const page = await at.open('passkeys');
    assert.match(page.text, /made for old\.example\.org, so it does not work here/);
    const { rows } = await query('select id from user_passkeys where user_id = $1 and rp_id = $2', [
      userId,
      'localhost',
    ]);
    const refused = await at.send(page, 'passkeys', 'remove', { keyId: rows[0].id });
    assert.match(alertOf(refused), /sign in with this passkey only/);
    assert.equal((await factors(userId)).keys, 2);
  });

  it('are not added where the organization does not allow them, or a lost factor was not confirmed', async (t) => {
    const policy = (passkeys: boolean) =>
      api.call('PUT', '/management/v1/policies/login', { passkeys }, { orgId: org.orgId });
    t.after(() => policy(true));
    const { userId, at } = await person();
    const page = await at.open('passkeys');
    const options = optionsOf(page) as { challenge: string; rp: { id: string }; user: { id: string } };
    const answer = JSON.stringify(passkey(`no ${userId}`).register(options, { origin: api.url }));
    assert.equal((await policy(false)).status, 200);
    assert.ok(!(await at.open('passkeys')).text.includes('data-passkey'));
    assert.match(alertOf(await at.send(page, 'passkeys', 'add', { answer })), /organization does not let you/);
    await policy(true);
    await query('insert into user_factors (user_id, lost_at) values ($1, now())', [userId]);
    assert.equal((await at.open('passkeys')).at, '/account/confirm?to=passkeys');
    assert.match(
      (await at.post('passkeys', { step: 'add', token: tokenIn(page), answer })).headers.get('location') ?? '',
      /confirm/,
    );
    assert.equal((await factors(userId)).keys, 0);
  });
});
