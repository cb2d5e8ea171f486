/** Passkeys and security keys in the sessions that programs open. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addVerified } from '../../directory/users/people.ts';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { type AnswerOptions, type Passkey, passkey } from '../../support/passkeys.ts';
import { holdPasskey, ORIGIN, openPage, RP_ID, storePasskey } from './holder.ts';

const SESSIONS = '/v2beta/sessions';
const PASSWORD = 'correct horse';
const REQUIRED = 'USER_VERIFICATION_REQUIREMENT_REQUIRED';
const DISCOURAGED = 'USER_VERIFICATION_REQUIREMENT_DISCOURAGED';

let api: TestApi;
let org: SetUp;
let token: string;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, BASE_URL: ORIGIN } });
});
beforeEach(async () => {
  org = await api.setupOrg();
  ({ token } = await api.machine(org.orgId, ['ORG_OWNER']));
});
after(() => api.stop());

const webAuthN = (userVerificationRequirement?: string, domain = RP_ID) => ({
  webAuthN: { domain, ...(userVerificationRequirement ? { userVerificationRequirement } : {}) },
});
const open = (userId: string, challenges: object = webAuthN(REQUIRED), checks: object = {}) =>
  api.call('POST', SESSIONS, { checks: { user: { userId }, ...checks }, challenges }, { token });
const withPassword = (userId: string, challenges: object = webAuthN(), password = PASSWORD) =>
  open(userId, challenges, { password: { password } });
const patch = (id: string, body: object, by = token) => api.call('PATCH', `${SESSIONS}/${id}`, body, { token: by });
const optionsOf = ({ body }: Answer) => body.challenges.webAuthN.publicKeyCredentialRequestOptions;
const assertion = (asked: Answer, key: Passkey, answer: Partial<AnswerOptions> = {}) =>
  key.assertion(optionsOf(asked), { origin: ORIGIN, ...answer });
const enter = (id: string, credentialAssertionData: unknown, by = token, more: object = {}) =>
  patch(id, { checks: { webAuthN: { credentialAssertionData }, ...more } }, by);
const factors = async (id: string) =>
  (await api.call('GET', `${SESSIONS}/${id}`, undefined, { token })).body.session.factors;
const amrOf = async (userId: string) => {
  const text = `select payload->'amr' as amr from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
  return (await api.deps.pool.query(text, [userId])).rows.map(({ amr }) => amr);
};

let made = 0;
async function personWithKey(): Promise<{ userId: string; key: Passkey }> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  const key = passkey(`session key ${++made}`, { rpId: RP_ID });
  await storePasskey(api, userId, key, { passwordless: false });
  return { userId, key };
}
async function personWithPasskey(): Promise<{ userId: string; key: Passkey }> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  return { userId, key: await holdPasskey(api, userId) };
}

describe('a passkey that opens a session', () => {
  it('signs in without a password, once, with its user verified', async () => {
    const { userId, key } = await personWithPasskey();
    const opened = await open(userId);
    assert.equal(opened.status, 201, JSON.stringify(opened.body));
    const { sessionId } = opened.body;
    const { rpId, userVerification, allowCredentials } = optionsOf(opened);
    assert.deepEqual([rpId, userVerification], [RP_ID, 'required']);
    assert.deepEqual(
      allowCredentials.map((one: { id: string }) => one.id),
      [key.credentialId],
    );
    assert.deepEqual(Object.keys(await factors(sessionId)), ['user']);
    const unverified = await enter(sessionId, assertion(opened, key, { userVerified: false }));
    assert.deepEqual([unverified.status, errorId(unverified)], [400, 'SESSION-PASSKEY']);
    const answer = assertion(opened, key);
    assert.equal((await enter(sessionId, answer)).status, 200);
    const proven = await factors(sessionId);
    assert.deepEqual(Object.keys(proven).sort(), ['user', 'webAuthN']);
    assert.equal(proven.webAuthN.userVerified, true);
    assert.deepEqual(await amrOf(userId), [['hwk', 'user', 'mfa']]);
    assert.equal(errorId(await enter(sessionId, answer)), 'SESSION-PASSKEY', 'the same answer');
    const other = await open(userId);
    assert.equal(errorId(await enter(other.body.sessionId, answer)), 'SESSION-PASSKEY', 'in another session');
  });

  it('is right only in its session, for its program and its user, and not with a challenge of a page', async () => {
    const { userId, key } = await personWithPasskey();
    const stranger = await personWithPasskey();
    const [mine, second] = [await open(userId), await open(userId)];
    const { sessionId } = mine.body;
    const { token: neighbour } = await api.machine(org.orgId, ['ORG_OWNER']);
    const page = await openPage(api);
    for (const refused of [
      await enter(sessionId, assertion(second, key)),
      await enter(sessionId, assertion(mine, stranger.key)),
      await enter(sessionId, assertion(mine, key), neighbour),
      await enter(sessionId, assertion(mine, key, { origin: 'https://evil.example' })),
      await enter(sessionId, key.assertion({ challenge: page.challenge }, { origin: ORIGIN })),
      await enter(sessionId, {}),
    ]) {
      assert.deepEqual([refused.status, errorId(refused)], [400, 'SESSION-PASSKEY']);
    }
    assert.deepEqual(Object.keys(await factors(sessionId)), ['user']);
  });

  it('is asked for only where the user has one, at our domain, with verification', async () => {
    const { userId } = await personWithPasskey();
    const elsewhere = await open(userId, webAuthN(REQUIRED, 'evil.example'));
    assert.deepEqual(badFieldsOf(elsewhere), ['challenges.webAuthN.domain']);
    const field = 'challenges.webAuthN.userVerificationRequirement';
    assert.deepEqual(badFieldsOf(await open(userId, webAuthN(DISCOURAGED))), [field]);
    assert.deepEqual(badFieldsOf(await open(userId, webAuthN('sometimes'))), [field]);
    for (const id of [await addVerified(api, org.orgId, PASSWORD), (await personWithKey()).userId]) {
      assert.equal(errorId(await open(id)), 'SESSION-WEBAUTHN-UNAVAILABLE');
    }
    await api.call('PUT', '/management/v1/policies/login', { passkeys: false }, { orgId: org.orgId });
    assert.equal(errorId(await open(userId)), 'SESSION-WEBAUTHN-UNAVAILABLE');
    assert.equal(errorId(await open('missing')), 'SESSION-CREDENTIALS');
  });

  it('is one more factor of a session that the password has opened', async () => {
    const { userId, key } = await personWithPasskey();
    const opened = await withPassword(userId);
    const { sessionId } = opened.body;
    assert.deepEqual(Object.keys(await factors(sessionId)).sort(), ['password', 'user']);
    assert.equal((await enter(sessionId, assertion(opened, key))).status, 200);
    const asked = await patch(sessionId, { challenges: webAuthN() });
    assert.equal((await enter(sessionId, assertion(asked, key))).status, 200);
    assert.deepEqual(Object.keys(await factors(sessionId)).sort(), ['password', 'user', 'webAuthN']);
  });
});

describe('a security key after the password of a session', () => {
  it('is asked for with the right password, and opens the session once', async () => {
    const { userId, key } = await personWithKey();
    const alone = await api.call('POST', SESSIONS, { checks: { user: { userId }, password: { password: PASSWORD } } });
    assert.equal(errorId(alone), 'SESSION-TOTP-REQUIRED', 'the password alone');
    assert.equal(errorId(await withPassword(userId, webAuthN(), 'wrong')), 'SESSION-CREDENTIALS');
    const opened = await withPassword(userId, webAuthN(DISCOURAGED));
    assert.equal(opened.status, 201, JSON.stringify(opened.body));
    const { sessionId } = opened.body;
    assert.deepEqual(Object.keys(await factors(sessionId)), ['user']);
    const answer = assertion(opened, key, { userVerified: false });
    assert.deepEqual(badFieldsOf(await enter(sessionId, answer, token, { totp: { code: '123456' } })), ['checks']);
    assert.equal((await enter(sessionId, answer)).status, 200);
    const proven = await factors(sessionId);
    assert.deepEqual(Object.keys(proven).sort(), ['password', 'user', 'webAuthN']);
    assert.equal(proven.webAuthN.userVerified, false);
    assert.deepEqual(await amrOf(userId), [['pwd', 'hwk', 'mfa']]);
    assert.equal(errorId(await enter(sessionId, answer)), 'SESSION-TOTP', 'the same answer');
  });

  it('is right only in its session and for its user, with the password that was checked', async () => {
    const [mine, theirs] = [await personWithKey(), await personWithKey()];
    const opened = await withPassword(mine.userId);
    const second = await withPassword(mine.userId);
    const { sessionId } = opened.body;
    for (const answer of [assertion(second, mine.key), assertion(opened, theirs.key)]) {
      assert.equal(errorId(await enter(sessionId, answer)), 'SESSION-TOTP');
    }
    const foreign = await withPassword(theirs.userId);
    assert.equal(errorId(await enter(foreign.body.sessionId, assertion(opened, mine.key))), 'SESSION-TOTP');
    await api.deps.pool.query('update users set password_changed_at = now() where id = $1', [mine.userId]);
    assert.equal(errorId(await enter(sessionId, assertion(opened, mine.key))), 'SESSION-TOTP');
    assert.deepEqual(Object.keys(await factors(sessionId)), ['user']);
  });

  it('verifies its user where that was asked for', async () => {
    const { userId, key } = await personWithKey();
    const opened = await withPassword(userId, webAuthN(REQUIRED));
    const { sessionId } = opened.body;
    assert.equal(optionsOf(opened).userVerification, 'required');
    assert.equal(errorId(await enter(sessionId, assertion(opened, key, { userVerified: false }))), 'SESSION-TOTP');
    assert.equal((await enter(sessionId, assertion(opened, key))).status, 200);
    assert.equal((await factors(sessionId)).webAuthN.userVerified, true);
  });

  it('is no answer in the request that opens the session', async () => {
    const [{ userId, key }, without] = [await personWithKey(), await addVerified(api, org.orgId, PASSWORD)];
    const credentialAssertionData = assertion(await withPassword(userId), key);
    for (const id of [userId, without]) {
      const checks = { user: { userId: id }, password: { password: PASSWORD }, webAuthN: { credentialAssertionData } };
      assert.equal(errorId(await api.call('POST', SESSIONS, { checks }, { token })), 'SESSION-TOTP');
    }
  });
});
