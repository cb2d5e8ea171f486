import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findUser, type User } from '../../../src/directory/users/store.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { changeEmail } from '../../../src/signin/credentials/contacts.ts';
import {
  addHuman,
  allowUrl,
  contactOf,
  eventsOf,
  humanRow,
  lastMail,
  mailCode,
  tokenOf,
  unsentMails,
} from '../../directory/users/people.ts';
import { type Answer, badFieldsOf, errorId, startApi, type TestApi } from '../../support/api.ts';
import { waiters } from '../../support/stores/locks.ts';

let api: TestApi;
let orgId: string;

before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
  await allowUrl(api, orgId, 'https://app.example');
});
after(() => api.stop());

const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const setEmail = (userId: string, body: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'email'), body, { token });
const resend = (userId: string, body: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'email/resend'), body, { token });
const verify = (userId: string, verificationCode: string) =>
  api.call('POST', path(userId, 'email/verify'), { verificationCode });
const setPassword = (userId: string, verificationCode: string) =>
  api.call(
    'POST',
    path(userId, 'password'),
    { newPassword: { password: 'new horse' }, verificationCode },
    { token: null },
  );

const OLD = 'ann@example.com';
const NEW = 'Ann.New@example.com';
const refused = (answer: Answer) => assert.deepEqual([answer.status, errorId(answer)], [400, 'CODE-INVALID']);

async function emailOf(userId: string): Promise<[string, boolean]> {
  const { email, emailVerified } = await contactOf(api, userId);
  return [email, emailVerified];
}

describe('setting an email address', () => {
  it('mails a code to the new address by default', async () => {
    for (const body of [{ email: NEW }, { email: NEW, sendCode: {} }, { email: NEW, isVerified: false }]) {
      const userId = await addHuman(api, orgId, 'old');
      const answer = await setEmail(userId, body);
      assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
      const { sequence } = await humanRow(api, userId);
      assert.deepEqual([answer.body.details.sequence, answer.body.details.resourceOwner], [sequence, orgId]);
      assert.deepEqual(await emailOf(userId), [NEW, false]);
      assert.deepEqual(await eventsOf(api, userId), ['user.human.email.changed']);
      const mail = await lastMail(api, userId);
      assert.deepEqual([mail.kind, mail.urlTemplate], ['verify_email', null]);
      assert.equal((await verify(userId, mail.code)).status, 200);
      assert.deepEqual(await emailOf(userId), [NEW, true]);
    }
  });

  it("uses the caller's link", async () => {
    const userId = await addHuman(api, orgId, 'old');
    const urlTemplate = 'https://app.example/v?u={{.UserID}}&c={{.Code}}';
    assert.equal((await setEmail(userId, { email: NEW, send_code: { url_template: urlTemplate } })).status, 200);
    assert.equal((await lastMail(api, userId)).urlTemplate, urlTemplate);
  });

  it('returns the code on request, and mails nothing', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const { status, body } = await setEmail(userId, { email: NEW, returnCode: {} });
    assert.deepEqual([status, Object.keys(body)], [200, ['details', 'verificationCode']]);
    assert.deepEqual(await unsentMails(api, userId), []);
    assert.equal((await verify(userId, body.verificationCode)).status, 200);
    refused(await verify(userId, body.verificationCode));
  });

  it('lets managers mark it verified', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const manager = await api.machine(orgId, ['ORG_USER_MANAGER']);
    const answer = await setEmail(userId, { email: NEW, isVerified: true }, manager.token);
    assert.deepEqual([answer.status, answer.body.verificationCode], [200, undefined]);
    assert.deepEqual(await emailOf(userId), [NEW, true]);
    assert.deepEqual(await unsentMails(api, userId), []);
  });

  it('keeps a verified address verified when it is set again, unless a code is requested', async () => {
    const userId = await addHuman(api, orgId, 'old');
    await setEmail(userId, { email: NEW, isVerified: true });
    assert.equal((await setEmail(userId, { email: NEW })).status, 200);
    assert.deepEqual([await emailOf(userId), await unsentMails(api, userId)], [[NEW, true], []]);
    const { body } = await setEmail(userId, { email: NEW, returnCode: {} });
    assert.deepEqual(await emailOf(userId), [NEW, false]);
    assert.equal((await verify(userId, body.verificationCode)).status, 200);
    assert.equal((await setEmail(userId, { email: NEW.toLowerCase() })).status, 200);
    assert.deepEqual(await emailOf(userId), [NEW.toLowerCase(), false], 'it may be another mailbox');
  });

  it('revokes every code sent to the old address', async () => {
    const userId = await addHuman(api, orgId);
    const codes = {
      verify: (await mailCode(api, userId, 'verify_email')).code,
      initialise: (await mailCode(api, userId, 'initialise')).code,
      reset: (await mailCode(api, userId, 'reset_password')).code,
    };
    assert.equal((await setEmail(userId, { email: NEW })).status, 200);
    refused(await verify(userId, codes.verify));
    refused(await verify(userId, codes.initialise));
    refused(await setPassword(userId, codes.initialise));
    refused(await setPassword(userId, codes.reset));
    assert.deepEqual(await unsentMails(api, userId), ['initialise'], 'only the new one is sent');
    assert.deepEqual(await emailOf(userId), [NEW, false]);
  });

  for (const kind of ['verify_email', 'initialise'] as const) {
    it(`never lets a code of the old address verify the new one, even one checked before the change (${kind})`, async () => {
      const userId = await addHuman(api, orgId, kind === 'initialise' ? undefined : 'old');
      const { code } = await mailCode(api, userId, kind);
      const verifying = await transaction(api.deps.pool, async (db) => {
        const user = (await findUser(db, userId, 'for update')) as User;
        const answer = verify(userId, code);
        await waiters(api.deps.pool, 1); // for the user, after the code was found
        await changeEmail({ ...api.deps, db }, user, { email: NEW, returnCode: {} }, 'editor');
        return { answer };
      });
      refused(await verifying.answer);
      assert.deepEqual(await emailOf(userId), [NEW, false]);
    });
  }

  it('sends a user without a password the initialisation mail to the new address', async () => {
    const userId = await addHuman(api, orgId);
    await setEmail(userId, { email: NEW });
    const mail = await lastMail(api, userId);
    assert.equal(mail.kind, 'initialise');
    assert.equal((await setPassword(userId, mail.code)).status, 200);
    const row = await humanRow(api, userId);
    assert.deepEqual([row.state, row.email_verified], ['active', true]);
  });
});

describe('resending the code', () => {
  it('mails or returns a new one and revokes the old one', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const { code: first } = await mailCode(api, userId, 'verify_email');
    const answer = await resend(userId, undefined);
    assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
    assert.equal(answer.body.details.sequence, (await humanRow(api, userId)).sequence);
    assert.deepEqual(await unsentMails(api, userId), ['verify_email']);
    const { code: second } = await lastMail(api, userId);
    const { body } = await resend(userId, { returnCode: {} });
    refused(await verify(userId, first));
    refused(await verify(userId, second));
    assert.equal((await verify(userId, body.verificationCode)).status, 200);
    assert.deepEqual(await emailOf(userId), [OLD, true]);
    const again = await resend(userId, {});
    assert.deepEqual([again.status, errorId(again), again.body.code], [400, 'EMAIL-VERIFIED', 9]);
  });

  it('sends the initialisation mail to an INITIAL user', async () => {
    const userId = await addHuman(api, orgId);
    assert.equal((await resend(userId, { sendCode: {} })).status, 200);
    const mail = await lastMail(api, userId);
    assert.equal(mail.kind, 'initialise');
    assert.equal((await verify(userId, mail.code)).status, 200);
    assert.equal((await setPassword(userId, mail.code)).status, 200);
  });
});

describe('permission to change an email address', () => {
  it('includes users themselves, who cannot mark it verified', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const token = await tokenOf(api, userId);
    assert.equal((await setEmail(userId, { email: NEW, isVerified: true }, token)).status, 403);
    assert.equal((await setEmail(userId, { email: NEW, returnCode: {} }, token)).status, 403);
    assert.equal((await resend(userId, { returnCode: {} }, token)).status, 403);
    assert.deepEqual([await emailOf(userId), await eventsOf(api, userId)], [[OLD, false], []]);
    assert.equal((await resend(userId, {}, token)).status, 200);
    assert.equal((await setEmail(userId, { email: NEW }, token)).status, 200);
  });

  it('excludes users with more rights than the caller', async () => {
    const owner = await api.setupOrg();
    const manager = await api.machine(owner.orgId, ['ORG_USER_MANAGER']);
    for (const body of [{ email: NEW }, { email: 1 }]) {
      assert.equal((await setEmail(owner.userId, body, manager.token)).status, 403);
    }
    assert.equal((await resend(owner.userId, {}, manager.token)).status, 403);
    const admin = await addHuman(api, owner.orgId, 'old');
    await api.deps.pool.query(`insert into instance_members (user_id, roles, sequence) values ($1, '{IAM_OWNER}', 1)`, [
      admin,
    ]);
    const orgOwner = await api.machine(owner.orgId, ['ORG_OWNER']);
    assert.equal((await setEmail(admin, { email: NEW }, orgOwner.token)).status, 403);
    assert.equal((await setEmail(admin, { email: NEW })).status, 200);
  });

  it('is checked in the right order', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const viewer = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
    const stranger = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
    for (const call of [setEmail, resend]) {
      assert.equal((await call(userId, { returnCode: 1 }, null)).status, 401);
      assert.equal((await call(userId, { returnCode: 1 }, viewer.token)).status, 403);
      assert.equal((await call(userId, {}, stranger.token)).status, 403);
      assert.equal((await call('nobody', {}, stranger.token)).status, 403);
      assert.equal((await call('nobody', {})).status, 404);
      const machine = await call(viewer.userId, call === setEmail ? { email: NEW } : {});
      assert.deepEqual([machine.status, errorId(machine)], [400, 'EMAIL-NOT-HUMAN']);
    }
  });

  it('reports every invalid field at once', async () => {
    const userId = await addHuman(api, orgId, 'old');
    const cases: Array<[unknown, string[]]> = [
      [{}, ['email']],
      [{ email: 'nope', isVerified: 'yes' }, ['email', 'isVerified']],
      [{ email: NEW, isVerified: false, sendCode: {} }, ['sendCode']],
      [{ email: '', sendCode: { urlTemplate: 'x' }, returnCode: {} }, ['email', 'returnCode', 'sendCode.urlTemplate']],
      [{ email: `${'a'.repeat(200)}@b.c` }, ['email']],
      [{ email: NEW, sendCode: { urlTemplate: 'https://a.b/{{.Password}}' } }, ['sendCode.urlTemplate']],
    ];
    for (const [body, fields] of cases) {
      const answer = await setEmail(userId, body);
      assert.deepEqual([answer.status, badFieldsOf(answer)], [400, fields], JSON.stringify(body));
    }
    assert.deepEqual(badFieldsOf(await resend(userId, { sendCode: {}, returnCode: {} })), ['returnCode']);
    assert.deepEqual(await eventsOf(api, userId), []);
  });
});
