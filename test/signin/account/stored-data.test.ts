/** What people download about themselves: everything that is stored, without secrets and without other people. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { STORED_LISTS } from '../../../src/contract/users.ts';
import { addVerified, mailCode, tokenOf } from '../../directory/users/people.ts';
import { errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { hiddenOf } from '../pages/visitor.ts';
import { atAccount } from './person.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const PASSWORD = 'correct horse battery';
const path = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;

/** Where each table that names users is in the data, or why it is not. */
const TABLES: Readonly<Record<string, string>> = {
  audit_events: 'events',
  codes: 'codes',
  first_sign_ins: 'imports',
  instance_members: 'instanceRoles',
  login_networks: 'networks',
  mail_counts: 'messagesOfTheDay',
  mail_outbox: 'messages',
  oauth_models: 'applications',
  org_members: 'organizationRoles',
  personal_access_tokens: 'personalAccessTokens',
  sessions: 'sessions',
  user_factors: 'otherFactors',
  user_idp_links: 'links',
  user_metadata: 'metadata',
  user_passkeys: 'passkeys',
  user_totp: 'authenticatorApps',
  machine_keys: '- only machine users have keys',
  erasures: '- the user is deleted by then',
  import_items: '- kept of an import, by its number: `imports` names it',
  removed_user_ids: '- the user is deleted by then',
  webauthn_challenges: '- random values that are valid for minutes',
};

async function person(): Promise<string> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  const { pool } = api.deps;
  const token = await tokenOf(api, userId);
  const { secret } = (await api.call('POST', path(userId, 'totp'), {}, { token })).body;
  await api.call('POST', path(userId, 'totp/verify'), { code: codeAt(secret) }, { token });
  await pool.query(`insert into user_metadata values ($1, 'plan', 'gold'), ($1, 'raw', '\\xff00')`, [userId]);
  await pool.query(
    `insert into user_factors (user_id, recovery_sealed, recovery_left) values ($1, 'sealed-codes', 3)`,
    [userId],
  );
  await pool.query(
    `insert into user_passkeys (credential_id, user_id, public_key, rp_id, name)
     values (decode(md5($1), 'hex'), $1, '\\xbeefbeefbeefbeef', 'localhost', 'Key')`,
    [userId],
  );
  await pool.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name) values ($1, 'google', $2, 'ann@g')`,
    [userId, `g-${userId}`],
  );
  await mailCode(api, userId, 'reset_password');
  return userId;
}

const dataOf = (userId: string, token?: string) => api.call('GET', path(userId, 'data'), undefined, { token });

describe('the data of a person', () => {
  it('has a part for every table that names users', async () => {
    const { rows } = await api.deps.pool.query<{ table: string }>(
      `select table_name as table from information_schema.columns join information_schema.tables t using (table_schema, table_name)
       where table_schema = current_schema() and t.table_type = 'BASE TABLE' and column_name = 'user_id' order by 1`,
    );
    const names = rows.map((row) => row.table);
    assert.deepEqual(
      names.filter((name) => !(name in TABLES)),
      [],
      'a new table is shown, or has its reason here',
    );
    const parts = Object.values(TABLES).filter((part) => !part.startsWith('-'));
    assert.deepEqual(
      parts.filter((part) => !(STORED_LISTS as readonly string[]).includes(part)),
      [],
    );
  });

  it('is all that is stored, and no secret', async () => {
    const userId = await person();
    const session = { user: { userId }, password: { password: PASSWORD } };
    await api.call('POST', '/v2beta/sessions', { checks: session });
    const answer = await dataOf(userId);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { body } = answer;
    assert.deepEqual(Object.keys(body), ['exportedAt', 'account', 'organization', 'user', ...STORED_LISTS]);
    assert.deepEqual([body.account.id, body.user.human.email.email], [userId, 'ann@example.com']);
    assert.equal(body.authenticatorApps.length, 1);
    assert.equal(body.otherFactors[0].recoveryCodesLeft, 3);
    assert.deepEqual([body.passkeys[0].name, body.passkeys[0].host], ['Key', 'localhost']);
    assert.equal(body.links[0].userName, 'ann@g');
    assert.deepEqual(body.metadata, [
      { key: 'plan', value: 'Z29sZA==', text: 'gold' },
      { key: 'raw', value: '/wA=' },
    ]);
    assert.deepEqual([body.codes[0].purpose, body.messages.at(0).kind], ['reset_password', 'factor_added']);
    assert.ok(body.events.some((event: { type: string }) => event.type === 'user.human.totp.verified'));
    const { rows } = await api.deps.pool.query(
      `select u.password_hash as hash, t.secret from users u join user_totp t on t.user_id = u.id where u.id = $1`,
      [userId],
    );
    const text = JSON.stringify(body);
    for (const secret of [rows[0].hash, rows[0].secret, 'sealed-codes', 'beefbeef', 'vu++', PASSWORD]) {
      assert.ok(!text.includes(secret), secret);
    }
  });

  it('does not say where an administrator was', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
    await api.call('POST', path(userId, 'deactivate'), {}, { token: manager.token });
    await api.call('POST', path(userId, 'reactivate'), {}, { token: manager.token });
    const { body } = await dataOf(userId, await tokenOf(api, userId));
    const event = body.events.find(({ type }: { type: string }) => type === 'user.deactivated');
    assert.deepEqual(
      [event.actor.id, event.address, event.userAgent, event.requestId],
      [manager.userId, undefined, undefined, undefined],
    );
  });

  it('is answered in pages, whatever it is', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    await api.deps.pool.query(
      `insert into user_metadata select $1, 'key ' || lpad(i::text, 4, '0'), 'x' from generate_series(1, 45) as i`,
      [userId],
    );
    await api.deps.pool.query(
      `insert into audit_events (type, actor_kind, user_id, org_id, created_at)
       select 'user.signin.failed', 'anonymous', $1, $2, now() - i / 2 * interval '1 second' from generate_series(1, 1200) as i`,
      [userId, org.orgId],
    );
    const { body } = await dataOf(userId);
    assert.deepEqual([body.metadata.length, body.events.length], [45, 1200]);
  });

  it('is for the person after a recent sign-in, and for an owner', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const other = await addVerified(api, org.orgId, PASSWORD);
    const old = await dataOf(userId, await tokenOf(api, userId, 301));
    assert.deepEqual([old.status, errorId(old)], [401, 'AUTH-SIGN-IN-AGAIN']);
    assert.equal((await dataOf(userId, await tokenOf(api, userId))).status, 200);
    assert.equal((await dataOf(userId, await tokenOf(api, other))).status, 403);
    assert.equal((await dataOf(userId, (await api.machine(org.orgId, ['ORG_USER_MANAGER'])).token)).status, 403);
    assert.equal((await dataOf(userId, (await api.machine(org.orgId, ['ORG_OWNER'])).token)).status, 200);
  });

  it('is downloaded from the page, by a form', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const at = await atAccount(api, userId, PASSWORD);
    const page = await at.open('data');
    const file = await at.post('data', hiddenOf(page, 'download'));
    assert.deepEqual(
      [file.status, file.headers.get('content-disposition')],
      [200, 'attachment; filename="my-data.json"'],
    );
    assert.equal(JSON.parse(file.text).account.id, userId);
  });
});

describe('the deletion of oneself over the API', () => {
  const remove = (userId: string, token?: string, body?: unknown) =>
    api.call('DELETE', `/v2beta/users/${encodeURIComponent(userId)}`, body, { token });

  it('needs the policy and the proof that the account is one’s own', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    const refused = await remove(userId, await tokenOf(api, userId));
    assert.deepEqual([refused.status, errorId(refused)], [400, 'USER-DELETE-SELF']);
    const policy = { deleteAccount: true };
    assert.equal((await api.call('PUT', '/management/v1/policies/login', policy, { orgId: org.orgId })).status, 200);
    const old = await tokenOf(api, userId, 301);
    assert.equal(errorId(await remove(userId, old)), 'AUTH-SIGN-IN-AGAIN');
    assert.equal(errorId(await remove(userId, old, { currentPassword: 'wrong' })), 'PASSWORD-CURRENT');
    assert.equal((await remove(userId, old, { currentPassword: PASSWORD })).status, 200);
    assert.equal((await api.deps.pool.query('select from users where id = $1', [userId])).rowCount, 0);
    const { rows } = await api.deps.pool.query(`select address from mail_outbox where kind = 'account_deleted'`);
    assert.deepEqual(rows, [{ address: 'ann@example.com' }]);
  });
});
