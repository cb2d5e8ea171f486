/**
 * People who had nothing but a phone number in the old system: its export is imported by the command line, and they sign
 * in to an application by a code in a text message, as the same user.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { addClient, hiddenOf, visitor } from '../signin/pages/visitor.ts';
import { deliverTexts, startSmsGateway } from '../support/sms.ts';
import { waitFor } from '../support/wait.ts';
import { nameOf, numberOf, type WaysCase, waysCases } from './cases.ts';
import { importCase, inTurns } from './import-case.ts';
import { openStage, setLoginPolicy } from './stage.ts';

/** Users whose name is their number. */
const byPhone = ({ users }: WaysCase) => users.filter((user) => numberOf(user) !== undefined);
const CASES = waysCases().filter((given) => byPhone(given).length > 0);

test('users with only a number come back by a text message', async (t) => {
  const gateway = await startSmsGateway();
  t.after(() => gateway.stop());
  const stage = await openStage(t, { SMS_URL: gateway.url });
  const { api, pool } = stage;
  const clientId = await addClient(api);
  const done = await inTurns(CASES, 4, async (given) => {
    const org = await stage.newOrg();
    await setLoginPolicy(stage, org.orgId, { mailCode: 'off', smsCode: 'withoutPassword' });
    return importCase(stage, org, given);
  });
  for (const { given, org, predicted, imported } of done) {
    for (const user of byPhone(given)) {
      await t.test(`${given.source}: ${user.who}`, async () => {
        const phone = nameOf(user);
        assert.equal(predicted.get(phone)?.way, 'SMS_CODE', JSON.stringify(predicted.get(phone)));
        assert.deepEqual(imported.get(phone), predicted.get(phone));
        const text = 'select id, phone, phone_verified as verified from users where org_id = $1 and user_name = $2';
        const { rows } = await pool.query(text, [org.orgId, phone]);
        assert.deepEqual([rows[0]?.phone, rows[0]?.verified], [phone, true]);
        const by = visitor(api);
        const path = await by.begin(clientId, { organization: org.orgId });
        const { token = '' } = hiddenOf(await by.get(path), 'password');
        const before = gateway.requests.length;
        await by.post(path, { token, step: 'password', loginName: phone, password: '', way: 'text' });
        const sent = await waitFor(
          async () => {
            await deliverTexts(api.deps, gateway.url);
            return gateway.requests.slice(before).find(({ body }) => body.to === phone);
          },
          { what: `a text to ${phone}` },
        );
        const [code = ''] = /\d{4} ?\d{4}(?= is your code)/.exec(sent.body.text) ?? [];
        const wrong = await by.post(path, { token, step: 'text-code', loginName: phone, code: '00000000' });
        assert.equal(wrong.status, 400);
        const right = await by.post(path, { token, step: 'text-code', loginName: phone, code });
        assert.equal(right.status, 303, right.text);
        const back = await by.get(new URL(right.headers.get('location') ?? '').pathname);
        assert.match(back.headers.get('location') ?? '', /^https:\/\/app\.example\.com\/callback\?.*code=/);
        const events = `select payload from audit_events where user_id = $1 and type = 'user.signin.succeeded'`;
        const { rows: signIns } = await pool.query(events, [rows[0].id]);
        assert.deepEqual(
          signIns.map(({ payload }) => payload.amr),
          [['sms']],
        );
      });
    }
  }
});
