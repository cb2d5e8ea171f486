/** The pages for what goes wrong: too many requests, no database, no such thing, a session that ends in a form. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { duration } from '../../src/console/shell/blocks.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { listen } from '../../src/platform/http/server.ts';
import { randomToken, tokenHash } from '../../src/platform/ids.ts';
import { buildApp } from '../../src/start/app.ts';
import { addHuman } from '../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { type Answered, type Visitor, visitor } from './visitor.ts';

describe('a page of the console', () => {
  let api: TestApi;
  let org: SetUp;
  let owner: Visitor;
  let admin: Visitor;
  before(async () => {
    api = await startApi({ env: { RATE_LIMIT_MAILS: '1' } });
    org = await api.setupOrg();
    owner = await visitor(api, (await api.machine(org.orgId, ['ORG_OWNER'])).token);
    admin = await visitor(api, api.token);
  });
  after(() => api.stop());

  /** Says when the request may succeed, as long as the header does. */
  function saysWhen({ text, headers }: Answered, path: string): void {
    const seconds = Number(headers.get('retry-after'));
    assert(seconds >= 1, `Retry-After: ${headers.get('retry-after')}`);
    const [, shown = '', at] = /You can try again in ([^,]+), from\s+<time datetime="([^"]+)"/.exec(text) ?? [];
    assert.equal(shown, duration(seconds * 1000));
    assert(Math.abs(Date.parse(at as string) - Date.now() - seconds * 1000) < 60_000);
    assert(text.includes(`href="${api.url}${path}"`) || text.includes(`href="${path}"`), 'a link to try again');
  }

  it('says when to try again after too many requests', async () => {
    const token = randomToken();
    await api.deps.pool.query(
      'insert into personal_access_tokens (id, user_id, token_hash, sequence) values ($1, $2, $3, 1)',
      [...['pat', org.userId], tokenHash(token)],
    );
    const person = await visitor(api, token);
    const path = `/console/users/${org.userId}/reset`;
    assert.equal((await person.post(path)).status, 303);
    const refused = await person.post(path);
    assert.equal(refused.status, 429);
    assert.match(refused.text, /<h1>Too many requests<\/h1>/);
    saysWhen(refused, path);
  });

  it('says when to try again while the database cannot answer', async () => {
    const pool = openPool(api.deps.config.DATABASE_URL, { max: 2, name: 'console-states', statementMs: 300 });
    const app = buildApp({ ...api.deps, pool });
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    const lock = await api.deps.pool.connect();
    try {
      const path = '/console/imports?state=FAILED';
      const there = await visitor(api, api.token, `http://127.0.0.1:${server.port}`);
      await lock.query('begin; lock table console_sessions in access exclusive mode');
      const down = await there.get(path);
      assert.equal(down.status, 503);
      assert.match(down.text, /<h1>Please try again in a moment<\/h1>/);
      assert.doesNotMatch(down.text, /console_sessions|timeout|lock/);
      saysWhen(down, path);
      const script = await fetch(`http://127.0.0.1:${server.port}/console/imports/live`, {
        headers: { cookie: there.cookie, accept: 'text/event-stream' },
      });
      assert.deepEqual([script.status, script.headers.get('content-type')?.split(';')[0]], [503, 'application/json']);
      await script.arrayBuffer();
    } finally {
      await lock.query('rollback');
      lock.release();
      await server.stop(1000);
      await pool.end();
    }
  });

  it('tells an IAM_OWNER what does not exist, and others only that they have no access', async () => {
    for (const path of [
      ...[
        '/imports/999999',
        '/imports/999999/live',
        '/imports/999999/fix',
        '/imports/999999/undo',
        '/imports/nonsense',
      ],
      ...['/users/nobody', '/users/nobody/lock', '/users/nobody/tokens', '/organizations/nowhere'],
    ]) {
      const missing = await admin.get(`/console${path}`);
      assert.equal(missing.status, 404, path);
      assert.match(missing.text, /<h1>Not found<\/h1>/, path);
      const hidden = await owner.get(`/console${path}`);
      assert.equal(hidden.status, 403, path);
      assert.match(hidden.text, /<h1>You do not have access to this<\/h1>/, path);
    }
    for (const path of ['/nowhere', '/imports/1/nowhere/at/all', '/clients/x/nowhere']) {
      assert.equal((await owner.get(`/console${path}`)).status, 404, path);
    }
  });

  it('leads from a cause that nobody fails for any more to the list of causes', async () => {
    const body = bulk(org.orgId, [entry('corrected', { email: { email: 'wrong' } })]);
    const { importId } = (await api.call('POST', '/admin/v1/import', body)).body;
    const { causes } = (await api.call('GET', `/admin/v1/imports/${importId}/causes`)).body;
    const list = `/console/imports/${importId}/fix`;
    const page = `${list}/${causes[0].cause}`;
    assert.equal((await owner.get(page)).status, 200);
    const corrected = await owner.post(page, { v0: 'right@example.com' });
    assert.equal(corrected.status, 200);
    for (const path of [page, `${page}/leave-out`]) {
      const { status, headers } = await owner.get(path);
      assert.deepEqual([status, headers.get('location')], [303, list], path);
    }
  });

  it('keeps the input of each form whose session has ended', async () => {
    const { orgId } = org;
    const users = [
      entry('states-a'),
      entry('states-b', { email: { email: 'wrong' } }),
      entry('states-c', { email: null }),
    ];
    const { importId } = (await api.call('POST', '/admin/v1/import', bulk(orgId, users))).body;
    assert.equal((await api.call('POST', `/admin/v1/imports/${importId}/_cancel`, {})).status, 200);
    const { causes } = (await api.call('GET', `/admin/v1/imports/${importId}/causes`)).body;
    const of = (remedy: string) =>
      causes.find(({ remedies }: { remedies: string[] }) => remedies.includes(remedy)).cause;
    const edited = causes.find(({ field }: { field?: string }) => field === 'user.email.email').cause;
    const userId = encodeURIComponent(await addHuman(api, orgId, 'correct horse'));
    const machine = (await api.machine(orgId)).userId;
    const fixes = `/console/imports/${importId}/fix`;
    const forms: [path: string, fields: Record<string, string>, who: Visitor][] = [
      [`/console/imports/${importId}/resume`, { timeout: '17m typed' }, owner],
      [`${fixes}/${edited}`, { v1: 'typed@example.com' }, owner],
      [`${fixes}/${of('user-name-as-email')}/user-name-as-email`, { domain: 'typed.example' }, owner],
      [`/console/users/${userId}/delete`, { userName: 'typed name' }, owner],
      [`/console/organizations/${orgId}`, { userId: 'typed-user', role: 'ORG_OWNER_VIEWER' }, owner],
      [
        `/console/organizations/${orgId}/machines/new`,
        { userName: 'typed', name: 'Typed', description: 'what' },
        owner,
      ],
      [`/console/users/${machine}/tokens`, { days: '365' }, owner],
      ['/console/organizations/new', { name: 'Typed "Ltd"', domain: 'typed.example' }, admin],
      ['/console/clients/new', { name: 'Typed', kind: 'native', redirectUris: 'https://typed.example/a' }, admin],
    ];
    for (const [path, fields, who] of forms) {
      const ended = await who.post(path, fields, 'muster_console=ended');
      assert.equal(ended.status, 401, path);
      assert.match(ended.text, /Your input is kept/, path);
      const kept = /muster_console_form=[^;]+/.exec(ended.headers.get('set-cookie') ?? '')?.[0];
      const again = await who.get(path, `${who.cookie}; ${kept}`);
      assert.equal(again.status, 200, path);
      for (const [name, value] of Object.entries(fields)) {
        const text = value.replaceAll('"', '&quot;');
        const shown = [`value="${text}"`, `<option value="${text}" selected`, `>\n${text}</textarea>`];
        assert(
          shown.some((one) => again.text.includes(one)),
          `${name} of ${path}`,
        );
      }
      const other = await (who === owner ? admin : owner).get('/console/imports', `${who.cookie}; ${kept}`);
      assert(!Object.values(fields).some((value) => other.text.includes(value)), 'only in its own form');
    }
    const long = await owner.post(
      `/console/organizations/${orgId}`,
      { userId: 'x'.repeat(5000) },
      'muster_console=ended',
    );
    assert.match(long.text, /Your input is too long to be kept/);
  });
});
