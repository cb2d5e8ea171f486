/**
 * Every form of `/account`, sent again after it has done its work, from a second tab that shows an older page, and after
 * the account is gone: none may end in a fault of the service.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildApp } from '../../../src/start/app.ts';
import { addVerified } from '../../directory/users/people.ts';
import { mountedRoutes } from '../../roles/mounted.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { type Form, formsIn } from '../../support/forms.ts';
import { addLinkRow } from '../../support/idp-rows.ts';
import { holdPasskey } from '../passkeys/holder.ts';
import { type AtAccount, atAccount } from './person.ts';

const PASSWORD = 'correct horse battery';
/** What a person types, by the name of the field. */
const TYPED: Readonly<Record<string, string>> = {
  givenName: 'Ann',
  familyName: 'Again',
  email: 'again@example.com',
  phone: '+41791234567',
  code: '000000',
  name: 'Blue phone',
  currentPassword: PASSWORD,
  password: 'another good passphrase',
  newPassword: 'another good passphrase',
  repeated: 'another good passphrase',
};

let api: TestApi;
let org: SetUp;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' };
  api = await startApi({ env: { ...env, SMS_URL: 'http://127.0.0.1:9/' }, host: 'localhost' });
  org = await api.setupOrg();
  const { status } = await api.call(
    'PUT',
    '/management/v1/policies/login',
    { deleteAccount: true },
    { orgId: org.orgId },
  );
  assert.equal(status, 200);
});
after(() => api.stop());

const sections = () =>
  mountedRoutes(buildApp(api.deps).router)
    .filter((route) => /^POST \/account(?:\/|$)/.test(route))
    .map((route) => route.replace(/^POST \/account\/?/, ''));

/** A person with something to see on every page. */
async function person(): Promise<{ userId: string; at: AtAccount }> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  const { pool } = api.deps;
  await pool.query(`update users set phone = '+41791112233', phone_verified = true where id = $1`, [userId]);
  await addLinkRow(pool, userId, 'google', userId);
  const at = await atAccount(api, userId, PASSWORD);
  await holdPasskey(api, userId);
  return { userId, at };
}

async function formsOf(at: AtAccount, section: string): Promise<Form[]> {
  const page = await at.open(section);
  assert(page.status < 500, `${section} answers ${page.status}`);
  return formsIn(page.text);
}

const filled = ({ fields }: Form) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value || (TYPED[name] ?? '')]));
const sectionOf = ({ action }: Form, section: string) => /\/account\/?([\w-]*)/.exec(action)?.[1] ?? section;

describe('a form of /account that is sent again', () => {
  it('does its work once, or says why it cannot, also from a second tab', async () => {
    let sent = 0;
    for (const section of sections()) {
      const { at } = await person();
      // A form may lead to the next one of its page, such as that for a code.
      for (let round = 0; round < 2; round++) {
        for (const { button } of await formsOf(at, section)) {
          const open = async () => (await formsOf(at, section)).find((one) => one.button === button);
          const [tab, other] = [await open(), await open()];
          if (!tab || !other) continue;
          for (const form of [tab, tab, other]) {
            const { status, text } = await at.post(sectionOf(form, section), filled(form));
            assert(status < 500, `${section}, ${button} answers ${status}: ${text.slice(0, 300)}`);
            sent++;
          }
        }
      }
    }
    assert(sent > 60, `${sent} forms`);
  });

  it('changes nothing after the account is deactivated or deleted', async () => {
    for (const change of ['deactivate', 'delete']) {
      const { userId, at } = await person();
      const forms: [section: string, form: Form][] = [];
      for (const section of sections()) {
        for (const form of await formsOf(at, section)) forms.push([section, form]);
      }
      assert(forms.length > 8, `${forms.length} forms`);
      const gone =
        change === 'delete'
          ? await api.call('DELETE', `/v2beta/users/${userId}`)
          : await api.call('POST', `/v2beta/users/${userId}/deactivate`);
      assert.equal(gone.status, 200, JSON.stringify(gone.body));
      const count = async () => (await api.deps.pool.query('select count(*)::int as n from audit_events')).rows[0].n;
      const before = await count();
      for (const [section, form] of forms) {
        const { status } = await at.post(sectionOf(form, section), filled(form));
        assert(status < 500, `${section}, ${form.button} answers ${status} after ${change}`);
      }
      assert.equal(await count(), before, change);
    }
  });
});
