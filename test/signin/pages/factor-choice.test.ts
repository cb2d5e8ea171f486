/** The step of the second factor on the sign-in page: the choice of another kind, and recovery codes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { factorsOf, putRecovery } from '../../../src/directory/users/second-factors.ts';
import { newRecoveryCodes, RECOVERY_PURPOSE } from '../../../src/passwords/recovery-codes.ts';
import { addHuman } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { addClient, hiddenOf, type Shown, type Visitor, visitor } from './visitor.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
  clientId = await addClient(api);
});
after(() => api.stop());

interface Step {
  by: Visitor;
  path: string;
  page: Shown;
}

/** A user with an app and ten recovery codes. */
async function person(): Promise<{ userId: string; secret: string; codes: string[] }> {
  const userId = await addHuman(api, org.orgId, PASSWORD);
  await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
  const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
  const { secret } = (await api.call('POST', path)).body;
  await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
  const { shown, text } = newRecoveryCodes();
  const sealed = api.deps.secrets.seal(text, RECOVERY_PURPOSE);
  await putRecovery(api.deps.pool, userId, { sealed, left: shown.length });
  return { userId, secret, codes: shown };
}

async function afterPassword(userId: string): Promise<Step> {
  const by = visitor(api);
  const path = await by.begin(clientId);
  const fields = hiddenOf(await by.get(path), 'password');
  return { by, path, page: await by.post(path, { ...fields, loginName: userId, password: PASSWORD }) };
}

const send = ({ by, path, page }: Step, step: string, more: Record<string, string>) =>
  by.post(path, { ...hiddenOf(page, step), ...more });
const headingOf = ({ text }: Shown) => /<h1>(.*?)<\/h1>/.exec(text)?.[1];

describe('the second factor of a login', () => {
  it('may be a recovery code, which works once; the page then says how many are left', async () => {
    const { userId, codes } = await person();
    const first = await afterPassword(userId);
    assert.equal(headingOf(first.page), 'Enter your code');
    const asked = { ...first, page: await send(first, 'other-factor', { factor: 'recoveryCode' }) };
    assert.equal(headingOf(asked.page), 'Enter a recovery code');
    const wrong = await send(asked, 'code', { code: 'WRONG-WRONG' });
    assert.deepEqual([wrong.status, headingOf(wrong)], [400, 'Enter a recovery code']);
    assert.match(wrong.text, /The recovery code is wrong or has already been used/);
    const left = await send({ ...asked, page: wrong }, 'code', { code: codes[0] ?? '' });
    assert.deepEqual([left.status, headingOf(left)], [200, '9 recovery codes left']);
    const done = await send({ ...asked, page: left }, 'later', {});
    assert.equal(done.status, 303);
    const second = await afterPassword(userId);
    const again = { ...second, page: await send(second, 'other-factor', { factor: 'recoveryCode' }) };
    assert.equal((await send(again, 'code', { code: codes[0] ?? '' })).status, 400);
    const { rows } = await api.deps.pool.query(`select kind from mail_outbox where user_id = $1 order by id`, [userId]);
    assert.ok(rows.some(({ kind }) => kind === 'recovery_code_used'));
  });

  it('offers only what the user has, and never leads past the factor', async () => {
    const { userId } = await person();
    const step = await afterPassword(userId);
    assert.doesNotMatch(step.page.text, /Text me a code|Email me a code/);
    const other = await send(step, 'other-factor', { factor: 'otpSms' });
    assert.equal(headingOf(other), 'Enter your code');
    for (const factor of ['otpSms', 'otpEmail', 'webAuthN', 'nothing']) {
      const refused = await send(step, 'code', { factor, code: '123456' });
      assert.deepEqual([refused.status, headingOf(refused)], [400, 'Enter your code'], factor);
    }
    const late = await send(step, 'code', { step: 'later' });
    assert.equal(late.status, 400);
  });

  it('says who can help where nothing that the user has can be used', async () => {
    const { userId } = await person();
    await api.deps.pool.query('delete from user_totp where user_id = $1', [userId]);
    await api.deps.pool.query('update user_factors set otp_sms = true, recovery_left = 0 where user_id = $1', [userId]);
    assert.equal((await factorsOf(api.deps.pool, userId)).otpSms, true);
    const { page } = await afterPassword(userId);
    assert.deepEqual([page.status, page.headers.get('location')], [400, null]);
    assert.match(page.text, /Your administrator can help/);
  });
});
