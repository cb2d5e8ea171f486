/** What people type to sign in: user names, full login names and verified addresses, as the organization allows. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { signsInWith } from '../../../src/directory/users/store.ts';
import { type Login, mayMeanAnother } from '../../../src/signin/login/store.ts';
import { addClient, hiddenOf, visitor } from '../../signin/pages/visitor.ts';
import { badFieldsOf, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

const PASSWORD = 'correct horse';
const PATH = '/management/v1/orgs/me/sign_in_names';

describe('a verified address', () => {
  let api: TestApi;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: '0', LOCK_AFTER_FAILURES: '0' } });
  });
  after(() => api.stop());

  const address = () => `${unique('Ann')}@example.com`;
  /** The owner of a new organization. */
  const owner = (email: string, userName = unique('ann'), isEmailVerified = true): Promise<SetUp> =>
    api.setupOrg({ human: { userName, email: { email, isEmailVerified }, password: PASSWORD } });
  async function member({ orgId }: SetUp, email: string, username = unique('bob'), isVerified = true): Promise<string> {
    const profile = { givenName: 'Bob', familyName: 'B' };
    const body = {
      username,
      organization: { orgId },
      profile,
      email: { email, isVerified },
      password: { password: PASSWORD },
    };
    const answer = await api.call('POST', '/v2beta/users/human', body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.userId;
  }
  /** The id of the user who is signed in; undefined if nobody is. */
  async function signedIn(loginName: string, options = {}): Promise<string | undefined> {
    const checks = { user: { loginName }, password: { password: PASSWORD } };
    const { status, body } = await api.call('POST', '/v2beta/sessions', { checks }, options);
    if (status !== 201) {
      assert.deepEqual([status, body.details[0].id], [400, 'SESSION-CREDENTIALS']);
      return undefined;
    }
    const { body: found } = await api.call('GET', `/v2beta/sessions/${body.sessionId}`);
    return found.session.factors.user.id;
  }
  const setNames = (orgId: string, signInNames: unknown) => api.call('PUT', PATH, { signInNames }, { orgId });
  /** Makes all names and users older than the rule. */
  const age = () =>
    api.deps.pool.query(
      `update users set created_at = created_at - interval '1 year' where created_at > now() - interval '1 day'`,
    );

  it('signs in, in any case, where it is unique in the organization', async () => {
    const email = address();
    const org = await owner(email);
    assert.equal(await signedIn(email.toUpperCase()), org.userId);
    const second = await member(org, email);
    assert.equal(await signedIn(email), undefined, 'two users have verified it');
    assert.equal(await signedIn(email, { orgId: org.orgId }), undefined);
    await api.call('DELETE', `/v2beta/users/${second}`);
    assert.equal(await signedIn(email), org.userId);
    await member(org, email, unique('bob'), false);
    assert.equal(await signedIn(email), org.userId, 'an address that is not verified counts for nothing');
  });

  it('signs in only once it is verified', async () => {
    const email = address();
    const { userId } = await owner(email, unique('ann'), false);
    assert.equal(await signedIn(email), undefined);
    await api.call('POST', `/v2beta/users/${userId}/email`, { email, isVerified: true });
    assert.equal(await signedIn(email), userId);
  });

  it('stays that of the user who verified it first, whatever another organization does', async () => {
    const email = address();
    const older = await owner(address());
    const first = await owner(email);
    const second = await owner(email);
    assert.equal(await signedIn(email), first.userId);
    assert.equal(await signedIn(email, { orgId: second.orgId }), second.userId);
    // An older user who gets the address, or the name, comes later.
    await api.call('POST', `/v2beta/users/${older.userId}/email`, { email, isVerified: true });
    assert.equal(await signedIn(email), first.userId);
    await api.call('PUT', `/v2beta/users/human/${older.userId}`, { username: email });
    assert.equal(await signedIn(email), first.userId);
    assert.equal(await signedIn(email, { orgId: older.orgId }), older.userId);
  });

  it('does not take the place of a name that was there before addresses signed in', async () => {
    const email = address();
    const [byAddress, byName] = [await owner(email), await owner(address(), email)];
    assert.equal(await signedIn(email), byAddress.userId);
    await age();
    assert.equal(await signedIn(email), byName.userId);
    assert.equal(await signedIn(email, { orgId: byAddress.orgId }), byName.userId);
  });

  it('does not take the place of a full login name', async () => {
    const domain = `${unique('d')}.example`;
    const full = await api.setupOrg({
      org: { name: unique('d'), domain },
      human: { userName: 'cid', password: PASSWORD },
    });
    const other = await owner(`cid@${domain}`);
    assert.equal(await signedIn(`cid@${domain}`), full.userId);
    assert.equal(await signedIn(`cid@${domain}`, { orgId: other.orgId }), other.userId);
  });

  it('and each other name signs in only where the organization allows it', async () => {
    const email = address();
    const { orgId, userId, userName } = await owner(email);
    const { body } = await api.call('GET', `/v2beta/users/${userId}`);
    const names = { userName, loginName: body.user.preferredLoginName, email };
    assert.deepEqual((await api.call('GET', PATH, undefined, { orgId })).body.signInNames, Object.keys(names));
    for (const allowed of [['email'], ['userName'], ['loginName'], ['email', 'loginName']]) {
      assert.equal((await setNames(orgId, allowed)).status, 200);
      for (const [name, text] of Object.entries(names)) {
        const expected = allowed.includes(name) ? userId : undefined;
        assert.equal(await signedIn(text), expected, `${name} with ${allowed}`);
        assert.equal(await signedIn(text, { orgId }), expected, `${name} with ${allowed}, there`);
      }
    }
    for (const wrong of [[], ['phone'], 'email', undefined]) {
      const answer = await setNames(orgId, wrong);
      assert.deepEqual([answer.status, badFieldsOf(answer).length > 0], [400, true], JSON.stringify(wrong));
    }
  });

  it('is what the pages ask for', async () => {
    const email = address();
    const { orgId } = await owner(email);
    const client = await addClient(api);
    const label = async (path: string, by: ReturnType<typeof visitor>) =>
      /<label[^>]*for="loginName"[^>]*>([^<]*)</.exec((await by.get(path)).text)?.[1];
    for (const [names, expected] of [
      [undefined, 'Login name or email'],
      [['email'], 'Email'],
      [['userName', 'loginName'], 'Login name'],
    ] as const) {
      if (names) await setNames(orgId, names);
      const by = visitor(api);
      const path = await by.begin(client, names ? { organization: orgId } : {});
      assert.equal(await label(path, by), expected);
      const query = new URLSearchParams(names ? { organization: orgId } : {});
      assert.equal(await label(`/ui/forgot?${query}`, by), expected);
    }
    await setNames(orgId, ['email']);
    const by = visitor(api);
    const path = await by.begin(client);
    const fields = hiddenOf(await by.get(path), 'password');
    assert.equal((await by.post(path, { ...fields, loginName: email, password: PASSWORD })).status, 303);
  });

  it('is not taken by many users of another organization who have it too', async () => {
    const email = address();
    const { pool } = api.deps;
    const [mine, flooding] = [await owner(email), await owner(address())];
    await pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, email_verified, sequence)
       select $2 || n, $1, 'human', 'active', 'f' || n, 'f' || n, $3::text, lower($3::text), true, 1
       from generate_series(1, 101) n`,
      [flooding.orgId, unique('flood'), email],
    );
    assert.equal(await signedIn(email, { orgId: mine.orgId }), mine.userId);
    assert.equal(await signedIn(email), mine.userId);
    assert.equal(await signedIn(email, { orgId: flooding.orgId }), mine.userId, 'ambiguous there, and so nobody there');
    assert.equal((await visitor(api).post('/ui/forgot', { loginName: email })).status, 200);
    const mailed = async () =>
      (await pool.query(`select user_id as id from mail_outbox where kind = 'reset_password'`)).rows;
    await waitFor(async () => (await mailed()).length > 0, { what: 'the mail for a forgotten password' });
    assert.deepEqual(await mailed(), [{ id: mine.userId }]);
    // A password source of the flooding organization must not get the password of the user elsewhere.
    const theirs = { orgId: flooding.orgId, loginName: 'f1@flood.example' } as Login;
    assert.equal(await mayMeanAnother(pool, { loginName: email }, theirs), true);
    await api.call('DELETE', `/v2beta/users/${mine.userId}`);
    assert.equal(await mayMeanAnother(pool, { loginName: email }, theirs), false);
  });

  it('is found by an index in a large table', async () => {
    const { pool } = api.deps;
    const { orgId } = await owner(address());
    await pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, email_verified, sequence)
       select 'large' || n, $1, 'human', 'active', 'l' || n, 'l' || n, 'l' || n || '@a.example', 'l' || n || '@a.example', true, 1
       from generate_series(1, 20000) n`,
      [orgId],
    );
    await pool.query('analyze users');
    for (const scope of [{}, { orgId }, { orgIds: [orgId] }]) {
      const values: unknown[] = [];
      const is = signsInWith('l7@a.example', (value) => `$${values.push(value)}`, scope);
      const { rows } = await pool.query(`explain (analyze, format json) select u.id from users u where ${is}`, values);
      const plan = JSON.stringify(rows[0]);
      assert.doesNotMatch(plan, /"Seq Scan","Parent[^}]*"Relation Name":"users"/);
      assert.match(plan, /"Index Name":"users_by_address"/);
    }
    await pool.query(`update users set email_key = 'shared@a.example' where org_id = $1`, [orgId]);
    assert.equal(await signedIn('shared@a.example'), undefined);
    assert.equal(await signedIn('shared@a.example', { orgId }), undefined);
    const other = await owner('shared@a.example');
    assert.equal(await signedIn('shared@a.example'), other.userId, 'ambiguous in the other organization alone');
    const values: unknown[] = [];
    const is = signsInWith('shared@a.example', (value) => `$${values.push(value)}`);
    const text = `explain (analyze, buffers, format json) select u.id from users u where ${is}`;
    const { rows } = await pool.query(text, values);
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    assert.ok(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] < 200, JSON.stringify(plan));
  });
});
