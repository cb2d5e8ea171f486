import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findUser, type User } from '../../../src/directory/users/store.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { changePhone } from '../../../src/signin/credentials/contacts.ts';
import {
  addHuman,
  contactOf,
  eventsOf,
  humanRow,
  lastMail,
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
});
after(() => api.stop());

const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const setPhone = (userId: string, body: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'phone'), body, { token });
const resend = (userId: string, body: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'phone/resend'), body, { token });
const verify = (userId: string, verificationCode: unknown, token?: string | null) =>
  api.call('POST', path(userId, 'phone/verify'), { verificationCode }, { token });
const remove = (userId: string, token?: string | null) =>
  api.call('DELETE', path(userId, 'phone'), undefined, { token });

const OLD = '+41791234567';
const NEW = '+420601123456';
const refused = (answer: Answer) => assert.deepEqual([answer.status, errorId(answer)], [400, 'CODE-INVALID']);

async function phoneOf(userId: string): Promise<[string | null, boolean]> {
  const { phone, phoneVerified } = await contactOf(api, userId);
  return [phone, phoneVerified];
}

async function withPhone(isVerified = false): Promise<string> {
  const userId = await addHuman(api, orgId, 'old');
  await api.deps.pool.query('update users set phone = $2, phone_verified = $3 where id = $1', [
    userId,
    OLD,
    isVerified,
  ]);
  return userId;
}

describe('setting a phone number', () => {
  it('sends a code to the new number by default, which verifies it once', async () => {
    const userId = await withPhone(true);
    const answer = await setPhone(userId, { phone: '+420 601 123 456' });
    assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
    assert.equal(answer.body.details.sequence, (await humanRow(api, userId)).sequence);
    assert.deepEqual(
      [await phoneOf(userId), await unsentMails(api, userId)],
      [
        [NEW, false],
        ['phone_changed', 'verify_phone'],
      ],
    );
    const { code } = await lastMail(api, userId);
    const verified = await verify(userId, ` ${code.toLowerCase()} `);
    assert.deepEqual([verified.status, Object.keys(verified.body)], [200, ['details']]);
    assert.deepEqual(await phoneOf(userId), [NEW, true]);
    assert.deepEqual(await eventsOf(api, userId), ['user.human.phone.changed', 'user.human.phone.verified']);
    refused(await verify(userId, code));
  });

  it('returns the code on request, and sends nothing', async () => {
    const userId = await withPhone();
    const { body } = await setPhone(userId, { phone: NEW, returnCode: {} });
    assert.deepEqual(await unsentMails(api, userId), ['phone_changed'], 'the address is told, and nothing else');
    assert.equal((await verify(userId, body.verificationCode)).status, 200);
  });

  it('lets managers mark it verified, and keeps a verified number verified', async () => {
    const userId = await withPhone();
    const manager = await api.machine(orgId, ['ORG_USER_MANAGER']);
    assert.equal((await setPhone(userId, { phone: NEW, isVerified: true }, manager.token)).status, 200);
    assert.equal((await setPhone(userId, { phone: NEW }, manager.token)).status, 200);
    assert.deepEqual([await phoneOf(userId), await unsentMails(api, userId)], [[NEW, true], ['phone_changed']]);
  });

  it('revokes the code of the old number, but not those of the email address', async () => {
    const userId = await withPhone();
    await resend(userId, {});
    const { code: old } = await lastMail(api, userId);
    const { body } = await api.call('POST', path(userId, 'email/resend'), { returnCode: {} });
    assert.equal((await setPhone(userId, { phone: NEW, returnCode: {} })).status, 200);
    refused(await verify(userId, old));
    assert.deepEqual([await phoneOf(userId), await unsentMails(api, userId)], [[NEW, false], ['phone_changed']]);
    const email = { verificationCode: body.verificationCode };
    assert.equal((await api.call('POST', path(userId, 'email/verify'), email)).status, 200);
  });

  it('never lets a code of the old number verify the new one, even one checked before the change', async () => {
    const userId = await withPhone();
    await resend(userId, {});
    const { code } = await lastMail(api, userId);
    const verifying = await transaction(api.deps.pool, async (db) => {
      const user = (await findUser(db, userId, 'for update')) as User;
      const answer = verify(userId, code);
      await waiters(api.deps.pool, 1); // for the user, after the code was found
      await changePhone({ ...api.deps, db }, user, { phone: NEW, returnCode: {} }, 'editor');
      return { answer };
    });
    refused(await verifying.answer);
    assert.deepEqual(await phoneOf(userId), [NEW, false]);
  });
});

describe('the code of a phone number', () => {
  it('is valid for ten minutes, whatever wrong codes are entered', async () => {
    const userId = await withPhone();
    await resend(userId, {});
    const { code, codeId } = await lastMail(api, userId);
    const { rows } = await api.deps.pool.query(
      'select extract(epoch from expires_at - now())::float8 as left from codes where id = $1',
      [codeId],
    );
    assert.ok(rows[0].left > 590 && rows[0].left <= 600, `${rows[0].left} s`);
    (await Promise.all(Array.from({ length: 8 }, () => verify(userId, 'AAAAAAAAAAAA')))).forEach(refused);
    assert.equal((await verify(userId, code)).status, 200);
    const other = await withPhone();
    const { body } = await resend(other, { returnCode: {} });
    const backdate = `update codes set expires_at = now() - interval '1 millisecond' where user_id = $1`;
    await api.deps.pool.query(backdate, [other]);
    refused(await verify(other, body.verificationCode));
  });

  it('can be resent while there is something to verify', async () => {
    const userId = await withPhone();
    const first = (await resend(userId, { returnCode: {} })).body.verificationCode;
    const second = (await resend(userId, { returnCode: {} })).body.verificationCode;
    refused(await verify(userId, first));
    assert.equal((await verify(userId, second)).status, 200);
    const verified = await resend(userId, {});
    assert.deepEqual([verified.status, errorId(verified)], [400, 'PHONE-VERIFIED']);
    const none = await resend(await addHuman(api, orgId), {});
    assert.deepEqual([none.status, errorId(none)], [404, 'PHONE-NOT-FOUND']);
  });
});

describe('removing a phone number', () => {
  it('removes the number, its code and its message', async () => {
    const userId = await withPhone();
    await resend(userId, {});
    const { code } = await lastMail(api, userId);
    const answer = await remove(userId, await tokenOf(api, userId));
    assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
    assert.deepEqual([await phoneOf(userId), await unsentMails(api, userId)], [[null, false], []]);
    refused(await verify(userId, code));
    const again = await remove(userId);
    assert.deepEqual([again.status, errorId(again)], [404, 'PHONE-NOT-FOUND']);
    const { body } = await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`);
    assert.equal(body.user.human.phone, undefined);
  });
});

describe('permission to change a phone number', () => {
  it('includes users themselves, who cannot mark it verified', async () => {
    const userId = await withPhone();
    const token = await tokenOf(api, userId);
    assert.equal((await setPhone(userId, { phone: NEW, isVerified: true }, token)).status, 403);
    assert.equal((await setPhone(userId, { phone: NEW, returnCode: {} }, token)).status, 403);
    assert.equal((await resend(userId, { returnCode: {} }, token)).status, 403);
    assert.deepEqual(await phoneOf(userId), [OLD, false]);
    assert.equal((await setPhone(userId, { phone: NEW, sendCode: {} }, token)).status, 200);
    const { code } = await lastMail(api, userId);
    assert.equal((await verify(userId, code, token)).status, 200);
  });

  it('excludes users with more rights than the caller', async () => {
    const owner = await api.setupOrg();
    const { token } = await api.machine(owner.orgId, ['ORG_USER_MANAGER']);
    const calls = [
      setPhone(owner.userId, { phone: NEW }, token),
      resend(owner.userId, {}, token),
      verify(owner.userId, 'AAAAAAAAAAAA', token),
      remove(owner.userId, token),
    ];
    for (const { status } of await Promise.all(calls)) assert.equal(status, 403);
  });

  it('is checked in the right order; every invalid field is reported at once', async () => {
    const userId = await withPhone();
    const viewer = await api.machine(orgId, ['ORG_OWNER_VIEWER']);
    for (const call of [setPhone, resend, verify]) {
      assert.equal((await call(userId, { phone: 1 }, null)).status, 401);
      assert.equal((await call(userId, { phone: 1 }, viewer.token)).status, 403);
      assert.equal((await call('nobody', {}, viewer.token)).status, 403);
      assert.equal((await call('nobody', {})).status, 404);
    }
    assert.deepEqual([(await remove('nobody')).status, (await remove(userId, null)).status], [404, 401]);
    for (const answer of [await setPhone(viewer.userId, { phone: NEW }), await remove(viewer.userId)]) {
      assert.deepEqual([answer.status, errorId(answer)], [400, 'PHONE-NOT-HUMAN']);
    }
    const bad = await setPhone(userId, { phone: '12', sendCode: {}, returnCode: {} });
    assert.deepEqual([bad.status, badFieldsOf(bad)], [400, ['phone', 'returnCode']]);
    assert.deepEqual(badFieldsOf(await setPhone(userId, { phone: `+${'4'.repeat(200)}` })), ['phone']);
    assert.deepEqual(badFieldsOf(await verify(userId, undefined)), ['verificationCode']);
  });
});
