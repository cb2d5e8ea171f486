/** `/account` over HTTP: who sees it, what its forms do, and what a sign-in of before does not do. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addVerified, contactOf, eventsOf, humanRow, lastMail, unsentMails } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addLinkRow, addProvider, removeProviders } from '../../support/idp-rows.ts';
import { visitor } from '../pages/visitor.ts';
import { alertOf } from '../providers/traveller.ts';
import { atAccount, doneOf } from './person.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const PASSWORD = 'correct horse battery';
const OLD_S = 301;

async function person() {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  return { userId, at: await atAccount(api, userId, PASSWORD) };
}

const noticesOf = async (userId: string) =>
  (await unsentMails(api, userId)).filter((kind) => /changed|added|removed/.test(kind));

describe('the pages of an account', () => {
  it('lead to the sign-in without one, and back to the page', async () => {
    for (const path of ['/account', '/account/password', '/account/logins']) {
      const { status, headers } = await visitor(api).get(path);
      assert.deepEqual([status, new URL(headers.get('location') ?? '').pathname], [303, '/oauth/v2/authorize'], path);
    }
    const { at } = await person();
    await at.age(OLD_S);
    const asked = await at.open('password');
    assert.match(asked.at, /^\/ui\/login\//);
    assert.equal((await at.signIn(asked, PASSWORD)).at, '/account/password');
  });

  it('are at the old addresses too', async () => {
    for (const [old, now] of [
      ['/ui/links', '/account/links'],
      ['/console/account', '/account/logins'],
    ] as const) {
      const { status, headers } = await visitor(api).get(old);
      assert.deepEqual([status, headers.get('location')], [303, api.deps.config.baseUrl + now]);
    }
  });

  it('show who is signed in and what there is, and need no recent sign-in for that', async () => {
    const { userId, at } = await person();
    await at.age(3600);
    const page = await at.open();
    assert.equal(page.at, '/account');
    assert.ok(page.text.includes(userId) && page.text.includes('ann@example.com'));
    for (const section of ['profile', 'email', 'phone', 'password', 'links', 'logins', 'data']) {
      assert.ok(page.text.includes(`href="/account/${section}"`), section);
    }
    assert.ok(!page.text.includes('/account/delete'), 'the organization does not allow it');
    assert.equal((await at.open('logins')).at, '/account/logins');
    assert.equal((await at.open('profile')).at, '/account/profile');
  });

  it('change nothing for a form of another site, another browser, an old sign-in or an unknown step', async () => {
    const { userId, at } = await person();
    const page = await at.open('phone');
    const other = await person();
    const fields = { step: 'change', phone: '+41791234567' };
    const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? '';
    assert.equal((await at.post('phone', { ...fields, token }, { origin: 'https://evil.example' })).status, 403);
    assert.equal((await at.post('phone', fields)).status, 403, 'without a token');
    assert.equal((await other.at.post('phone', { ...fields, token })).status, 403, 'with the token of somebody else');
    assert.equal((await at.post('phone', { token, step: 'constructor' })).status, 400);
    await at.age(OLD_S);
    assert.match((await at.send(page, 'phone', 'change', fields)).at, /^\/ui\/login\//);
    assert.equal((await contactOf(api, userId)).phone, null);
    assert.equal((await contactOf(api, other.userId)).phone, null);
  });

  it('end with the account', async () => {
    const { userId, at } = await person();
    await api.deps.pool.query(`update users set state = 'inactive' where id = $1`, [userId]);
    assert.match((await at.open()).at, /^\/ui\/login\//);
  });
});

describe('names and language', () => {
  it('are changed after a sign-in of any age, and are refused with the reason', async () => {
    const { userId, at } = await person();
    await at.age(3600);
    const names = {
      givenName: 'Änne',
      familyName: 'Exämple <b>',
      nickName: '',
      displayName: '',
      preferredLanguage: 'en-GB',
    };
    const saved = await at.send(await at.open('profile'), 'profile', 'save', names);
    assert.equal(doneOf(saved), 'Your changes are saved.');
    assert.ok(saved.text.includes('value="Exämple &lt;b&gt;"'));
    const { rows } = await api.deps.pool.query('select display_name, preferred_language from users where id = $1', [
      userId,
    ]);
    assert.deepEqual(rows, [{ display_name: 'Änne Exämple <b>', preferred_language: 'en-GB' }]);
    for (const [field, value] of [
      ['givenName', ' '],
      ['familyName', 'x'.repeat(201)],
      ['preferredLanguage', 'not a language'],
    ] as const) {
      const refused = await at.send(saved, 'profile', 'save', { ...names, [field]: value });
      assert.equal(refused.status, 400, field);
      assert.match(alertOf(refused), /^((First|Last) name must|Choose a language)/);
    }
  });
});

describe('the email address', () => {
  it('is replaced when its link is opened, and the old one is told', async () => {
    const { userId, at } = await person();
    const sent = await at.send(await at.open('email'), 'email', 'change', { email: 'new@example.com' });
    assert.match(doneOf(sent), /^We have sent an email to the new address/);
    assert.match(sent.text, /<strong>new@example.com<\/strong> is not confirmed yet/);
    assert.equal((await contactOf(api, userId)).email, 'ann@example.com');
    assert.deepEqual(await unsentMails(api, userId), ['email_changed', 'verify_email']);
    assert.equal(doneOf(await at.send(sent, 'email', 'resend')), 'We have sent the email again.');
    assert.match(alertOf(await at.send(sent, 'email', 'change', { email: 'nothing' })), /^Enter an email address/);
    assert.match(alertOf(await at.send(sent, 'email', 'change', { email: 'ann@example.com' })), /your address already/);
  });
});

describe('the phone number', () => {
  it('is set, confirmed with its code and removed', async () => {
    const { userId, at } = await person();
    const set = await at.send(await at.open('phone'), 'phone', 'change', { phone: '+41 79 123 45 67' });
    assert.match(doneOf(set), /^We have sent a code/);
    assert.match(alertOf(await at.send(set, 'phone', 'confirm', { code: 'AAAAAAAAAAAA' })), /^The code is wrong/);
    const { code } = await lastMail(api, userId);
    const confirmed = await at.send(set, 'phone', 'confirm', { code });
    assert.equal(doneOf(confirmed), 'Your phone number is confirmed.');
    assert.deepEqual((await contactOf(api, userId)).phoneVerified, true);
    assert.equal(doneOf(await at.send(confirmed, 'phone', 'remove')), 'Your phone number is removed.');
    assert.equal((await contactOf(api, userId)).phone, null);
    assert.deepEqual(await noticesOf(userId), ['phone_changed', 'phone_changed']);
    assert.match(alertOf(await at.send(set, 'phone', 'change', { phone: '12' })), /^Enter a phone number/);
  });
});

describe('the password', () => {
  const next = { password: 'another horse battery', repeated: 'another horse battery' };

  it('is changed with the current one, by the rules of the organization', async () => {
    const { userId, at } = await person();
    const page = await at.open('password');
    const send = (fields: Record<string, string>) => at.send(page, 'password', 'change', fields);
    const before = (await humanRow(api, userId)).password_hash;
    assert.equal(alertOf(await send({ ...next, currentPassword: 'wrong' })), 'The current password is wrong.');
    assert.equal(alertOf(await send(next)), 'The current password is wrong.');
    assert.match(alertOf(await send({ ...next, currentPassword: PASSWORD, repeated: 'x' })), /do not match/);
    const weak = { password: 'password1', repeated: 'password1', currentPassword: PASSWORD };
    assert.match(alertOf(await send(weak)), /most common passwords/);
    assert.equal((await humanRow(api, userId)).password_hash, before);
    const changed = await send({ ...next, currentPassword: PASSWORD });
    assert.deepEqual([doneOf(changed), changed.at], ['Your password is changed.', '/account/password?done=changed']);
    assert.notEqual((await humanRow(api, userId)).password_hash, before);
    assert.deepEqual(await noticesOf(userId), ['password_changed']);
    assert.ok((await eventsOf(api, userId)).includes('user.human.password.changed'));
  });

  it('ends the sign-ins elsewhere on request, and keeps this one', async () => {
    const { userId, at } = await person();
    const elsewhere = await atAccount(api, userId, PASSWORD);
    const fields = { ...next, currentPassword: PASSWORD, others: 'yes' };
    const changed = await at.send(await at.open('password'), 'password', 'change', fields);
    assert.match(doneOf(changed), /signed out everywhere else/);
    assert.match((await elsewhere.open()).at, /^\/ui\/login\//);
    assert.equal((await at.open()).at, '/account');
  });

  it('is chosen by somebody who has none', async () => {
    const { userId, at } = await person();
    await api.deps.pool.query('update users set password_hash = null where id = $1', [userId]);
    const page = await at.open('password');
    assert.ok(!page.text.includes('currentPassword'));
    assert.equal(doneOf(await at.send(page, 'password', 'change', next)), 'Your password is changed.');
    assert.ok((await humanRow(api, userId)).password_hash);
  });
});

describe('connected accounts', () => {
  it('are shown and removed, but not the last way in', async (t) => {
    t.after(() => removeProviders(api.deps.pool));
    const { userId, at } = await person();
    const idpId = await addProvider(api.deps.pool, { name: 'Google' });
    await addLinkRow(api.deps.pool, userId, idpId, 'g-1');
    await api.deps.pool.query('update users set password_hash = null, email_verified = false where id = $1', [userId]);
    const page = await at.open('links');
    assert.ok(page.text.includes('Connect Google') && page.text.includes('g-1'));
    const fields = { idpId, userId: 'g-1' };
    assert.match(alertOf(await at.send(page, 'links', 'remove', fields)), /only way in which you can sign in/);
    await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
    assert.match(doneOf(await at.send(page, 'links', 'remove', fields)), /no longer connected/);
    assert.match(alertOf(await at.send(page, 'links', 'remove', fields)), /no longer connected/);
    assert.match(alertOf(await at.send(page, 'links', 'connect', { idpId: 'none' })), /try again/);
  });
});

describe('sign-ins', () => {
  it('are listed, and one or all others end after a recent sign-in only', async () => {
    const { userId, at } = await person();
    const others = [await atAccount(api, userId, PASSWORD), await atAccount(api, userId, PASSWORD)];
    const page = await at.open('logins');
    assert.equal(page.text.match(/\(this browser\)/g)?.length, 1);
    const ids = [...page.text.matchAll(/name="loginId" value="([^"]*)"/g)].map(([, id]) => id as string);
    assert.ok(ids.length >= 2);
    await at.age(OLD_S);
    assert.match((await at.send(page, 'logins', 'end', { loginId: ids[0] as string })).at, /^\/ui\/login\//);
    await at.age(0);
    assert.match(alertOf(await at.send(page, 'logins', 'end', { loginId: '' })), /Choose a sign‑in/);
    for (const loginId of ids) await at.send(page, 'logins', 'end', { loginId });
    for (const other of others) assert.match((await other.open()).at, /^\/ui\/login\//);
    const again = await atAccount(api, userId, PASSWORD);
    assert.match(doneOf(await at.send(await at.open('logins'), 'logins', 'end-others')), /All other sign‑ins/);
    assert.match((await again.open()).at, /^\/ui\/login\//);
    assert.equal((await at.open()).at, '/account');
  });

  it('of other people do not end', async () => {
    const [mine, theirs] = [await person(), await person()];
    const page = await theirs.at.open('logins');
    const { rows } = await api.deps.pool.query<{ id: string }>(
      `select encode(id_hash, 'hex') as id from oauth_models where user_id = $1 and kind = 'Session'`,
      [theirs.userId],
    );
    const own = await mine.at.open('logins');
    const token = /name="token" value="([^"]*)"/.exec((await mine.at.open('phone')).text)?.[1] ?? '';
    await mine.at.post('logins', { token, step: 'end', loginId: rows[0]?.id ?? '' });
    assert.equal((await theirs.at.open()).at, '/account');
    assert.ok(page.status === 200 && own.status === 200);
  });
});

describe('the deletion of an account', () => {
  const policy = (deleteAccount: boolean) =>
    api.call('PUT', '/management/v1/policies/login', { deleteAccount }, { orgId: org.orgId });

  it('needs the policy, the name and a recent sign-in, and is told by mail', async (t) => {
    t.after(() => policy(false));
    const { userId, at } = await person();
    assert.match((await at.open('delete')).text, /does not let you delete/);
    const token = /name="token" value="([^"]*)"/.exec((await at.open('phone')).text)?.[1] ?? '';
    const form = { token, step: 'delete', loginName: userId };
    assert.equal((await at.post('delete', form)).status, 400);
    assert.equal((await policy(true)).status, 200);
    assert.ok((await at.open()).text.includes('/account/delete'));
    const page = await at.open('delete');
    assert.match(alertOf(await at.send(page, 'delete', 'delete', { loginName: 'somebody' })), /not the name/);
    await at.age(OLD_S);
    assert.match((await at.send(page, 'delete', 'delete', { loginName: userId })).at, /^\/ui\/login\//);
    await at.age(0);
    const gone = await at.send(page, 'delete', 'delete', { loginName: userId.toUpperCase() });
    assert.match(gone.text, /Your account is deleted/);
    const { pool } = api.deps;
    assert.equal((await pool.query('select from users where id = $1', [userId])).rowCount, 0);
    const { rows } = await pool.query(`select org_id, address from mail_outbox where kind = 'account_deleted'`);
    assert.deepEqual(rows, [{ org_id: org.orgId, address: 'ann@example.com' }]);
    assert.ok((await eventsOf(api, userId)).includes('user.removed'));
    assert.match((await at.open()).at, /^\/ui\/login\//);
  });

  it('is refused to an IAM_OWNER unless the instance allows it too', async (t) => {
    t.after(() => policy(false));
    await policy(true);
    const { userId, at } = await person();
    await api.call('POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
    assert.match((await at.open('delete')).text, /does not let you delete/);
  });
});
