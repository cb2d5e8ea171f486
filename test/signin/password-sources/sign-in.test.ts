/** Password sources of an organization: their changes, imports that name them, and the first sign-in. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { rememberSlowSource, slowestMs } from '../../../src/directory/users/slow-hashes.ts';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { checkLogin } from '../../../src/signin/login/check.ts';
import { attemptKeys } from '../../../src/signin/login/delays.ts';
import { allSettings, findSource, type PasswordVerifier } from '../../../src/signin/password-sources/store.ts';
import { sample, scrape } from '../../operate/served.ts';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { type Entry, entry, HASH, openWriterPool } from '../../support/imports/imports.ts';
import { addClient, hiddenOf, visitor } from '../pages/visitor.ts';

const PASSWORD = 'typed by Ann';
const NEW_PASSWORD = 'a long enough one';
const PATH = '/management/v1/password_sources';

/** The old system: knows one password for everybody, and can be down. */
const old = { isDown: false, mustChange: false, asked: [] as string[] };
const server = createServer(async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const { userName, password } = JSON.parse(Buffer.concat(chunks).toString());
  old.asked.push(userName);
  if (old.isDown) return res.writeHead(503).end();
  const answer = { valid: password === PASSWORD, passwordChangeRequired: old.mustChange };
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});

describe('password sources', () => {
  let api: TestApi;
  let writer: Pool;
  let org: SetUp;
  let url: string;
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
    api = await startApi({ env: { PASSWORD_SOURCE_ALLOW_PRIVATE: 'true', LOGIN_DELAY_MS: '0' } });
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    org = await api.setupOrg();
  });
  after(async () => {
    await writer.end();
    await api.stop();
    server.close();
    server.closeAllConnections();
  });

  async function addSource(change: Record<string, unknown> = {}, orgId = org.orgId): Promise<string> {
    const body = { name: 'Old shop', kind: 'http', settings: { url }, ...change };
    const answer = await api.call('POST', PATH, body, { orgId });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.sourceId;
  }
  const importInto = (people: Entry[], query: string, orgId = org.orgId) =>
    api.call('POST', `/admin/v1/import?${query}`, bulk(orgId, people));
  const bare = (name: string, user: Record<string, unknown> = {}) =>
    entry(name, { hashedPassword: undefined, ...user });
  async function imported(people: Entry[], query: string): Promise<string> {
    const answer = await importInto(people, query);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    await writeBatch(writer, answer.body.importId, [...people.keys()], SETTINGS);
    return answer.body.importId;
  }
  /** A new user of a new source. */
  async function userAt(change: Record<string, unknown> = {}) {
    const sourceId = await addSource(change);
    const name = unique('ann');
    await imported([bare(name)], `passwordSource=${sourceId}`);
    const { id } = await row(name);
    return { sourceId, name, id };
  }
  const row = async (name: string) =>
    (await api.deps.pool.query('select * from users where user_name = $1', [name])).rows[0];
  const session = (loginName: string, password = PASSWORD) =>
    api.call('POST', '/v2beta/sessions', { checks: { user: { loginName }, password: { password } } });
  const status = async (id: string) => (await api.call('GET', `${PATH}/${id}/status`)).body;
  const failuresOf = async (userId: string) => {
    const keys = attemptKeys(api.deps.secrets, { userId }, { network: '127.0.0.1' });
    return (await api.deps.pool.query('select failures from login_delays where bucket = $1', [keys.here])).rows;
  };

  it('are not asked about a user of a deactivated organization', async () => {
    const { name } = await userAt();
    const change = (action: string) =>
      api.call('POST', `/management/v1/orgs/me/${action}`, undefined, { orgId: org.orgId });
    await change('_deactivate');
    old.asked.length = 0;
    assert.deepEqual([errorId(await session(name)), old.asked], ['SESSION-CREDENTIALS', []]);
    await change('_reactivate');
    assert.deepEqual([(await session(name)).status, old.asked], [201, [name]]);
  });

  it('can be changed: address, limits, end and secret', async () => {
    const { sourceId, name } = await userAt({ settings: { url: 'http://127.0.0.1:1/check' }, timeoutMs: 500 });
    assert.equal(errorId(await session(name)), 'PASSWORD-SOURCE-UNAVAILABLE');
    const until = '2099-01-01T00:00:00.000Z';
    const { body: first } = await api.call('GET', `${PATH}/${sourceId}`);
    const change = { name: 'New shop', kind: 'http', settings: { url }, checksPerSecond: 25, until };
    const changed = await api.call('PUT', `${PATH}/${sourceId}`, change);
    assert.deepEqual([changed.status, changed.body.secret], [200, undefined], JSON.stringify(changed.body));
    const { details, ...shown } = (await api.call('GET', `${PATH}/${sourceId}`)).body.passwordSource;
    assert.deepEqual(shown, {
      sourceId,
      ...change,
      state: 'PASSWORD_SOURCE_STATE_ACTIVE',
      userName: '{userName}',
      timeoutMs: 5000,
      endDate: null,
    });
    assert.equal(details.sequence, changed.body.details.sequence);
    assert.notEqual(details.sequence, first.passwordSource.details.sequence);
    const { rows } = await api.deps.pool.query('select type, payload from events where sequence = $1', [
      details.sequence,
    ]);
    assert.deepEqual(rows, [
      {
        type: 'organization.password_source.changed',
        payload: {
          sourceId,
          name: 'New shop',
          fields: ['checksPerSecond', 'name', 'timeoutMs', 'until', 'url'],
        },
      },
    ]);
    assert.equal((await session(name)).status, 201);
    // What the body leaves out gets its default, and the secret is replaced on request only.
    const again = await api.call('PUT', `${PATH}/${sourceId}`, { ...change, until: undefined, newSecret: true });
    assert.match(again.body.secret, /^whsec_/);
    const stored = (await findSource(api.deps.pool, sourceId)) as PasswordVerifier;
    assert.equal(stored.until, null);
    assert.equal(allSettings(api.deps.secrets, stored).secret, again.body.secret);
  });

  it('replace the password of imported users, who get no initialisation email', async () => {
    const sourceId = await addSource();
    const names = ['plain', 'hashed', 'none', 'locked', 'own'].map((name) => unique(name));
    const [plain = '', hashed = '', none = '', locked = '', own = ''] = names;
    const people = [
      bare(plain, { email: { email: 'plain@example.com', isEmailVerified: false } }),
      entry(hashed),
      bare(none),
      { ...bare(locked), state: 'USER_STATE_LOCKED' },
    ];
    await imported(people, `passwordSource=${sourceId}`);
    await imported([bare(own, { passwordSource: sourceId }), bare(unique('initial'))], '');
    const states = await Promise.all(names.map(async (name) => (await row(name)).state));
    assert.deepEqual(states, ['active', 'active', 'active', 'locked', 'active']);
    assert.equal((await row(hashed)).password_hash, HASH);
    const { rows: mails } = await api.deps.pool.query(
      'select u.user_name, m.kind from mail_outbox m join users u on u.id = m.user_id where u.user_name = any($1)',
      [names],
    );
    assert.deepEqual(mails, [{ user_name: plain, kind: 'verify_email' }]);
    assert.deepEqual((await status(sourceId)).users, { remaining: 4, migrated: 0 });
  });

  it('must belong to the organization of the users, and may not have ended', async () => {
    const other = await api.setupOrg();
    const ended = await addSource();
    await api.call('POST', `${PATH}/${ended}/_end`, {});
    for (const id of [await addSource({}, other.orgId), ended, 'no\\such']) {
      for (const answer of [
        await importInto([bare('x')], `passwordSource=${encodeURIComponent(id)}`),
        await importInto([bare('x', { passwordSource: id })], ''),
        await api.call('POST', '/management/v1/users/human/_import', bare('x', { passwordSource: id }).user, {
          orgId: org.orgId,
        }),
      ]) {
        assert.deepEqual([answer.status, errorId(answer)], [400, 'IMPORT-PASSWORD-SOURCE']);
      }
    }
    const { rows } = await api.deps.pool.query(`select from imports where state = 'receiving'`);
    assert.equal(rows.length, 0);
    const marked = entry('x', { hashedPassword: { value: `$source$${ended}` } });
    const { importId } = (await importInto([marked], '')).body;
    const { body } = await api.call('GET', `/admin/v1/imports/${importId}`);
    assert.equal(body.counts.failed, 1, 'a mark is no hash');
  });

  it('are named in the report, and counted in a dry run', async () => {
    const sourceId = await addSource();
    const { importId } = (await importInto([bare(unique('r'))], `passwordSource=${sourceId}`)).body;
    const report = await api.call('GET', `/admin/v1/imports/${importId}/report?format=dataorgs`);
    const { user } = report.body.dataOrgs.orgs[0].humanUsers[0];
    assert.deepEqual([user.passwordSource, user.hashedPassword], [sourceId, undefined]);
    const dry = (await importInto([bare('a'), entry('b')], `passwordSource=${sourceId}&dryRun=true`)).body;
    const { rows } = await api.deps.pool.query('select hashes from import_dry_runs where import_id = $1', [
      dry.importId,
    ]);
    assert.deepEqual(rows[0].hashes, [
      { scheme: 'password source', users: 1, verifiable: true },
      { scheme: 'bcrypt', users: 1, verifiable: true },
    ]);
    // Undo and deletion treat the user as any other.
    assert.equal((await api.call('POST', `/admin/v1/imports/${importId}/_cancel`, {})).status, 200);
  });

  it('count for an entry that is corrected after the acceptance, by the same rules', async () => {
    const sourceId = await addSource();
    const bad = (name: string, user: Record<string, unknown> = {}) =>
      bare(name, { email: { email: 'no address' }, ...user });
    const people = [bad(unique('fixed')), bad(unique('foreign'), { passwordSource: 'of nobody' })];
    const { importId } = (await importInto(people, `passwordSource=${sourceId}`)).body;
    const fix = (index: number) =>
      api.call('PATCH', `/admin/v1/imports/${importId}/items/${index}`, {
        user: { email: { email: 'ann@example.com' } },
      });
    const fixed = await fix(0);
    assert.equal(fixed.status, 200, JSON.stringify(fixed.body));
    assert.equal(fixed.body.entry.user.passwordSource, sourceId);
    assert.equal(errorId(await fix(1)), 'IMPORT-PASSWORD-SOURCE');
  });

  it('verify the first sign-in only; then the password is hashed here', async () => {
    const { sourceId, name, id } = await userAt();
    old.asked = [];
    const first = await session(name);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    assert.equal((await session(name)).status, 201);
    assert.deepEqual(old.asked, [name]);
    const { password_hash: hash } = await row(name);
    assert.equal((await api.deps.hasher.verify(hash, PASSWORD)).ok, true);
    assert.equal(errorId(await session(name, 'wrong')), 'SESSION-CREDENTIALS');
    const today = new Date().toISOString().slice(0, 10);
    const { users, perDay } = await status(sourceId);
    assert.deepEqual([users, perDay.length, perDay[0].migrated], [{ remaining: 0, migrated: 1 }, 1, 1]);
    assert.ok(perDay[0].date <= today);
    const { rows } = await api.deps.pool.query(`select payload from audit_events where user_id = $1 and type = $2`, [
      id,
      'user.human.password.migrated',
    ]);
    assert.deepEqual(rows, [{ payload: { sourceId } }]);
  });

  it('count a wrong password like any other', async () => {
    const { name, id } = await userAt();
    const typed = () =>
      api.call('POST', '/v2beta/sessions', { checks: { user: { userId: id }, password: { password: 'wrong' } } });
    const [here, unknown] = [await typed(), await session(unique('nobody'))];
    assert.deepEqual([here.status, here.body], [unknown.status, unknown.body]);
    const { rows } = await api.deps.pool.query('select failures from login_delays where failures = 1');
    assert.ok(rows.length > 0);
    assert.match((await row(name)).password_hash, /^\$source\$/);
  });

  it('are not asked about users who may not sign in, nor with a name that is empty', async () => {
    const { name, id } = await userAt();
    old.asked = [];
    for (const change of ['lock', 'deactivate']) {
      await api.call('POST', `/v2beta/users/${id}/${change}`, {});
      assert.equal(errorId(await session(name)), 'SESSION-CREDENTIALS');
    }
    assert.deepEqual(old.asked, []);
  });

  it('make the answer "try again later" while they are down, which is not a failed attempt', async () => {
    const { name, id } = await userAt();
    old.isDown = true;
    const down = await session(name);
    assert.deepEqual([down.status, errorId(down)], [503, 'PASSWORD-SOURCE-UNAVAILABLE']);
    assert.ok(Number(down.headers.get('retry-after')) > 0);
    assert.deepEqual(await failuresOf(id), []);
    // After five failures the source is left alone.
    for (let i = 0; i < 5; i++) await session(name);
    old.asked = [];
    assert.equal(errorId(await session(name)), 'PASSWORD-SOURCE-UNAVAILABLE');
    assert.deepEqual(old.asked, []);
    old.isDown = false;
  });

  it('make the login page ask to try again later, not say that the password is wrong', async () => {
    const { name } = await userAt();
    const me = visitor(api);
    const path = await me.begin(await addClient(api));
    const fields = hiddenOf(await me.get(path), 'password');
    old.isDown = true;
    const shown = await me.post(path, { ...fields, loginName: name, password: PASSWORD });
    old.isDown = false;
    assert.equal(shown.status, 503);
    assert.match(shown.text, /Please try again in a few minutes\./);
    assert.doesNotMatch(shown.text, /wrong/);
  });

  it('let a user who sets or resets a password forget them', async () => {
    const { name, id, sourceId } = await userAt();
    const set = await api.call('POST', `/v2beta/users/${id}/password`, { newPassword: { password: NEW_PASSWORD } });
    assert.equal(set.status, 200);
    assert.equal((await session(name, NEW_PASSWORD)).status, 201);
    assert.equal((await status(sourceId)).users.remaining, 0);
  });

  it('keep a password that replaced them, when an updating import names them again', async () => {
    const { name, sourceId } = await userAt();
    const again = async () => {
      const { importId } = (await importInto([bare(name)], `passwordSource=${sourceId}&onExisting=update`)).body;
      await specialStores(writer, SETTINGS).update.write(importId, [0]);
      const { rows } = await api.deps.pool.query('select changed, state from import_items where import_id = $1', [
        importId,
      ]);
      return rows[0];
    };
    assert.equal((await again()).state, 'skipped');
    assert.equal((await session(name)).status, 201);
    const { password_hash: hash } = await row(name);
    await again();
    assert.equal((await row(name)).password_hash, hash);
  });

  it('tell whether the user has to choose a new password', async () => {
    const { name } = await userAt();
    old.mustChange = true;
    const { body } = await session(name);
    old.mustChange = false;
    assert.equal(body.passwordChangeRequired, true);
    assert.equal((await row(name)).password_change_required, true);
  });

  it('get the name that their template makes', async () => {
    const { name } = await userAt({ userName: 'acme/{email}' });
    old.asked = [];
    await session(name);
    assert.deepEqual(old.asked, [`acme/${(await row(name)).email}`]);
  });

  it('can be tested by their owner, without an effect', async () => {
    const sourceId = await addSource();
    const test = (password: string) => api.call('POST', `${PATH}/${sourceId}/_test`, { userName: 'ann', password });
    assert.equal((await test(PASSWORD)).body.result, 'YES');
    assert.equal((await test('wrong')).body.result, 'NO');
    old.isDown = true;
    const { result, reason } = (await test(PASSWORD)).body;
    old.isDown = false;
    assert.deepEqual([result, reason], ['UNAVAILABLE', 'answered 503']);
  });

  it('are counted by their answers', async () => {
    const counts = async () => {
      const text = await scrape(api.deps.metrics);
      const series = (answer: string) => `muster_password_source_checks_total{answer="${answer}"}`;
      return ['yes', 'no', 'unavailable'].map((answer) => sample(text, series(answer)) as number);
    };
    const [yes = 0, no = 0, unavailable = 0] = await counts();
    const { name } = await userAt();
    old.isDown = true;
    await session(name);
    old.isDown = false;
    await session(name, 'wrong');
    await session(name);
    await session(name); // is verified here
    assert.deepEqual(await counts(), [yes + 1, no + 1, unavailable + 1]);
  });

  it('get no password that may be that of a user of another organization', async () => {
    const other = await api.setupOrg();
    const named = await userAt();
    const full = await userAt();
    const shared = `${unique('sam')}@shared.example`;
    const sam = entry(unique('sam'), { userName: shared, hashedPassword: undefined });
    await imported([sam], `passwordSource=${await addSource()}`);
    // The other organization has users of the same names, and one who has verified the third as their address.
    const people = [named.name, full.name].map((userName) => entry(unique('other'), { userName }));
    people.push(entry(unique('other'), { email: { email: shared, isEmailVerified: true } }));
    const answer = await importInto(people, '', other.orgId);
    await writeBatch(writer, answer.body.importId, [0, 1, 2], SETTINGS);

    const signIn = (loginName: string, scope: { orgId?: string; orgIds?: string[] } = {}) =>
      checkLogin(api.deps, { user: { loginName, ...scope }, network: unique('n') }, { password: PASSWORD });
    for (const loginName of [named.name, shared]) {
      old.asked.length = 0;
      await assert.rejects(signIn(loginName), { id: 'SESSION-CREDENTIALS' });
      await assert.rejects(signIn(loginName, { orgIds: [org.orgId, other.orgId] }), { id: 'SESSION-CREDENTIALS' });
      assert.deepEqual(old.asked, [], 'not where only the name says who is meant');
    }
    await signIn(named.name, { orgId: org.orgId });
    await signIn(shared, { orgIds: [org.orgId] });
    const domains = await api.deps.pool.query('select primary_domain from organizations where id = $1', [org.orgId]);
    await signIn(`${full.name}@${domains.rows[0].primary_domain}`);
    assert.deepEqual(old.asked, [named.name, shared, full.name], 'but where the organization is known');
  });

  it('keep to their rate', async () => {
    const sourceId = await addSource({ checksPerSecond: 0.1 });
    const test = () => api.call('POST', `${PATH}/${sourceId}/_test`, { userName: 'ann', password: PASSWORD });
    await test();
    assert.equal((await test()).body.reason, 'too many checks for its rate');
  });

  it('delay the answer to every wrong password as long as they take to refuse one, for an hour', async () => {
    const { pool } = api.deps;
    const sourceId = await addSource();
    await pool.query('update password_sources set slow_ms = 0, slow_at = null'); // of other tests
    await rememberSlowSource(pool, sourceId, 60_000);
    assert.equal(await slowestMs(pool), 2000, 'an outage must not delay all sign-ins');
    await pool.query(`update password_sources set slow_at = slow_at - interval '1 hour' where id = $1`, [sourceId]);
    assert.equal(await slowestMs(pool), 0);
    await rememberSlowSource(pool, sourceId, 750);
    assert.equal(await slowestMs(pool), 700);
    await rememberSlowSource(pool, sourceId, 10);
    assert.equal(await slowestMs(pool), 700);
  });

  it('are deleted once nobody needs them', async () => {
    const { name, sourceId } = await userAt();
    const remove = () => api.call('DELETE', `${PATH}/${sourceId}`);
    assert.equal(errorId(await remove()), 'PASSWORD-SOURCE-IN-USE');
    await session(name);
    assert.equal((await remove()).status, 200);
    assert.equal((await api.call('GET', `${PATH}/${sourceId}`)).status, 404);
  });
});
