/** Causes and corrections of failed users, through the API. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { subscribe } from '../../../src/platform/telemetry.ts';
import { type Answer, startApi, type TestApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { entry, HASH, openWriterPool } from '../../support/imports/imports.ts';
import { assertSums } from '../../support/imports/outcome.ts';

/** Of a variant of bcrypt that nobody knows. */
const BAD_HASH = `$2e$10$${'R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC'}`;
const PLANTED = ['R.YLNKkiLoMNjYefcfi0cu', HASH.slice(7), 'plain-secret-4711', 'JBSWY3DPEHPK3PXP'];

describe('the failed users of an import', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let orgId: string;
  let name: (n: string) => string;
  /** Everything that the service answered. */
  let answered = '';
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
  });
  beforeEach(async () => {
    const suffix = Math.random().toString(36).slice(2);
    name = (n) => `${n}-${suffix}`;
    orgId = (await api.call('POST', '/management/v1/orgs', { name: `Acme ${suffix}` })).body.id;
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await api.call(method, `/admin/v1/imports/${path}`, body);
    answered += JSON.stringify(answer.body);
    return answer;
  }
  async function imported(humanUsers: unknown[], query = ''): Promise<string> {
    const { status, body } = await api.call('POST', `/admin/v1/import${query}`, bulk(orgId, humanUsers));
    assert.equal(status, 202, JSON.stringify(body));
    await settle(body.importId, humanUsers.length);
    return body.importId;
  }
  const settle = (id: string, n: number) =>
    writeBatch(
      writer,
      id,
      Array.from({ length: n }, (_, i) => i),
      { codeTtlMs: 100_000 },
    );
  const result = async (id: string) => (await call('GET', id)).body;
  const causes = async (id: string) => (await call('GET', `${id}/causes`)).body;
  const fix = (id: string, body: unknown) => call('POST', `${id}/_fix`, body);
  const patch = (id: string, index: number, user: unknown) => call('PATCH', `${id}/items/${index}`, { user });
  const causeAt = async (id: string, field: string) =>
    (await causes(id)).causes.find((c: { field?: string }) => c.field === field)?.cause as string;
  const violations = ({ body }: Answer) => body.details[1].fieldViolations;
  async function sendAgain(id: string, n: number): Promise<Answer['body']> {
    assert.equal((await call('POST', `${id}/_retry`, {})).status, 200);
    await settle(id, n);
    const now = await result(id);
    assertSums(now);
    return now;
  }

  const mixed = () => [
    entry(name('good')),
    entry(name('bad'), { email: { email: 'not an address' } }),
    entry(name('space'), { email: { email: ` Space@EXAMPLE.com\u00a0` } }),
    entry(name('none'), { email: {} }),
    entry(name('hash1'), { hashedPassword: { value: BAD_HASH } }),
    entry(name('hash2'), { hashedPassword: { value: BAD_HASH }, email: { email: 'nor this' } }),
    entry(name('good')),
    7,
  ];

  it('are grouped by error id, field and scheme, with counts, first entries and remedies', async () => {
    const id = await imported(mixed());
    const found = await causes(id);
    assert.deepEqual([found.failed, found.corrected, found.moreCauses], [7, 0, 0]);
    const brief = found.causes.map((c: Record<string, unknown>) => [c.id, c.field, c.scheme, c.count, c.remedies]);
    assert.deepEqual(brief, [
      ['IMPORT-USER-INVALID', 'user.email.email', undefined, 3, ['trim-email', 'user-name-as-email', 'leave-out']],
      ['IMPORT-USER-INVALID', 'user.hashedPassword.value', '$2e$', 2, ['drop-hash', 'leave-out']],
      ['IMPORT-USER-INVALID', 'user.email.email', undefined, 1, ['user-name-as-email', 'leave-out']],
      ['USER-ID-TAKEN', undefined, undefined, 1, ['keep-first', 'leave-out']],
      ['IMPORT-USER-INVALID', 'humanUsers[]', undefined, 1, ['leave-out']],
    ]);
    assert.deepEqual(found.causes[1].first, [
      { index: 4, orgId, userId: `id-${name('hash1')}`, userName: name('hash1') },
      { index: 5, orgId, userId: `id-${name('hash2')}`, userName: name('hash2') },
    ]);
  });

  it('are corrected one by one: an invalid field changes nothing and names every invalid field', async () => {
    const id = await imported(mixed());
    const refused = await patch(id, 5, { email: { email: 'still not' }, nickName: 'x' });
    assert.equal(refused.status, 400);
    assert.deepEqual(
      violations(refused).map((v: { field: string }) => v.field),
      ['user.nickName'],
    );
    const bad = await patch(id, 5, { email: { email: 'still not' } });
    assert.deepEqual(
      [bad.status, violations(bad).map((v: { field: string }) => v.field)],
      [400, ['user.email.email', 'user.hashedPassword.value']],
    );
    const shown = (await call('GET', `${id}/items/5`)).body;
    assert.deepEqual(
      [shown.index, shown.state, shown.entry.user.email.email, shown.entry.user.hashedPassword],
      [5, 'ITEM_STATE_FAILED', 'nor this', { scheme: '$2e$' }],
    );

    const half = await patch(id, 5, { email: { email: `${name('five')}@example.com` } });
    assert.equal(half.status, 200);
    assert.deepEqual(
      half.body.error.details[1].fieldViolations.map((v: { field: string }) => v.field),
      ['user.hashedPassword.value'],
    );
    const whole = await patch(id, 5, { hashed_password: null });
    assert.deepEqual([whole.status, whole.body.error.details[0].id], [200, 'IMPORT-USER-FIXED']);
    assert.equal(whole.body.entry.user.profile.lastName, 'Arbor', 'nothing else changes');
    assert.equal((await causes(id)).corrected, 1);
    assert.equal((await result(id)).counts.failed, 7, 'until the retry');

    const now = await sendAgain(id, 8);
    assert.deepEqual([now.counts.succeeded, now.counts.failed], [2, 6]);
    const { rows } = await pool.query(
      'select email, state, password_hash from users where import_id = $1 and user_name = $2',
      [id, name('hash2')],
    );
    assert.deepEqual(rows, [{ email: `${name('five')}@example.com`, state: 'initial', password_hash: null }]);
  });

  it('an entry that was no user at all can be filled in', async () => {
    const id = await imported([entry(name('a')), null]);
    assert.deepEqual((await call('GET', `${id}/items/1`)).body.entry, {});
    const { userId, user } = entry(name('b'));
    const filled = await call('PATCH', `${id}/items/1`, { userId, user });
    assert.equal(filled.body.error.details[0].id, 'IMPORT-USER-FIXED', JSON.stringify(filled.body));
    const now = await sendAgain(id, 2);
    assert.deepEqual([now.state, now.counts.succeeded], ['IMPORT_STATE_SUCCEEDED', 2]);
  });

  it('a conflict is corrected by another name, and keeps hash, metadata and second factor', async () => {
    const first = entry(name('same'));
    await imported([first]);
    const second = {
      ...entry(name('same'), { metadata: [{ key: 'plan', value: 'Z29sZA==' }], otpCode: 'JBSWY3DPEHPK3PXP' }),
    };
    const id = await imported([{ ...second, userId: name('other-id') }]);
    assert.deepEqual((await causes(id)).causes[0].remedies, ['email-as-user-name', 'leave-out']);
    const shown = (await call('GET', `${id}/items/0`)).body.entry.user;
    assert.deepEqual([shown.hashedPassword, shown.otpCode], [{ scheme: 'bcrypt' }, { withheld: true }]);
    assert.equal((await patch(id, 0, { userName: name('another') })).status, 200);
    const now = await sendAgain(id, 1);
    assert.equal(now.state, 'IMPORT_STATE_SUCCEEDED');
    const { rows } = await pool.query(
      `select u.user_name, u.password_hash, m.key, t.user_id is not null as totp from users u
       join metadata m on m.user_id = u.id left join user_totp t on t.user_id = u.id where u.id = $1`,
      [name('other-id')],
    );
    assert.deepEqual(rows, [{ user_name: name('another'), password_hash: HASH, key: 'plan', totp: true }]);
  });

  it('names that are too long are shortened, and the users imported', async () => {
    const long = (more: object) => ({ profile: { firstName: 'x'.repeat(250), lastName: 'Long', ...more } });
    const id = await imported([entry(name('long1'), long({})), entry(name('long2'), long({ lastName: '' }))]);
    const cause = await causeAt(id, 'user.profile.firstName');
    const { changed, examples } = (await fix(id, { cause, remedy: 'shorten-name', dryRun: true })).body;
    const shortened = `${'x'.repeat(199)}…`;
    // The other one stays invalid for its last name.
    assert.deepEqual(
      [changed, examples.map(({ field, after }: { field: string; after: string }) => [field, after])],
      [1, [['user.profile.firstName', shortened]]],
    );
    assert.equal((await fix(id, { cause, remedy: 'shorten-name' })).body.changed, 1);
    assert.equal((await sendAgain(id, 1)).counts.succeeded, 1);
    const { user } = (await api.call('GET', `/v2beta/users/id-${name('long1')}`)).body;
    assert.equal(user.human.profile.givenName, shortened);
  });

  it('a remedy corrects all entries of a cause that it helps, after a preview that changes nothing', async () => {
    const id = await imported(mixed());
    const cause = (await causes(id)).causes[0].cause;
    const dry = (await fix(id, { cause, remedy: 'trim-email', dryRun: true })).body;
    assert.deepEqual(dry, {
      changed: 1,
      unchanged: 2,
      examples: [
        {
          ...{ index: 2, orgId, userId: `id-${name('space')}`, userName: name('space'), field: 'user.email.email' },
          ...{ before: ' Space@EXAMPLE.com\u00a0', after: 'space@example.com' },
        },
      ],
      next: null,
    });
    assert.equal((await causes(id)).corrected, 0);
    assert.deepEqual((await fix(id, { cause, remedy: 'trim-email' })).body, { changed: 1, unchanged: 2, next: null });
    const domain = `${name('d')}.example`;
    const named = (await fix(id, { cause, remedy: 'user-name-as-email', domain })).body;
    assert.deepEqual(named, { changed: 2, unchanged: 0, next: null });
    const hashes = await causeAt(id, 'user.hashedPassword.value');
    const preview = (await fix(id, { cause: hashes, remedy: 'drop-hash', dryRun: true })).body;
    assert.deepEqual(
      [preview.changed, preview.examples[0].before, preview.examples[0].after],
      [2, { scheme: '$2e$' }, null],
    );
    await fix(id, { cause: hashes, remedy: 'drop-hash' });
    await fix(id, { cause: await causeAt(id, 'user.email.email'), remedy: 'user-name-as-email', domain });
    const now = await sendAgain(id, 8);
    assert.deepEqual([now.counts.succeeded, now.counts.failed], [6, 2]);
    const { rows } = await pool.query('select email from users where import_id = $1 and user_name = $2', [
      id,
      name('none'),
    ]);
    assert.deepEqual(rows, [{ email: `${name('none')}@${domain}` }]);

    const ended: unknown[] = [];
    subscribe('importEnded', ({ importId, state }) => importId === id && ended.push(state));
    for (const { cause: left, remedies } of (await causes(id)).causes) {
      assert.deepEqual(ended, []);
      assert.equal((await fix(id, { cause: left, remedy: remedies[0] })).body.changed, 1);
    }
    assert.deepEqual(ended, ['succeeded'], 'for /metrics');
    const end = await result(id);
    assertSums(end);
    assert.deepEqual([end.state, end.counts.skipped, end.counts.failed], ['IMPORT_STATE_SUCCEEDED', 2, 0]);
    const report = (await api.call('GET', `/admin/v1/imports/${id}/items`)).body.items;
    assert.deepEqual(
      report.map((i: { state: string }) => i.state.replace('ITEM_STATE_', '')),
      ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SKIPPED', 'SKIPPED'],
    );
    const { rows: events } = await pool.query(
      `select payload ->> 'remedy' as remedy, payload ->> 'users' as users from events
       where aggregate_id = $1 and type = 'import.cause.fixed' order by sequence`,
      [id],
    );
    assert.deepEqual(events.slice(0, 2), [
      { remedy: 'trim-email', users: '1' },
      { remedy: 'user-name-as-email', users: '2' },
    ]);
  });

  it('are refused a remedy that does not apply, a missing domain, and a correction where it cannot be', async () => {
    const id = await imported(mixed());
    const cause = await causeAt(id, 'user.hashedPassword.value');
    const ids = async (answer: Promise<Answer>) => {
      const { status, body } = await answer;
      return [status, body.details[0].id];
    };
    assert.deepEqual(await ids(fix(id, { cause, remedy: 'trim-email' })), [400, 'IMPORT-REMEDY']);
    assert.deepEqual(await ids(fix(id, { cause, remedy: 'user-name-as-email' })), [400, 'IMPORT-FIX']);
    assert.deepEqual(await ids(fix(id, { cause: 'x', remedy: 'y' })), [400, 'IMPORT-FIX']);
    for (const from of [2 ** 31, Number.MAX_SAFE_INTEGER])
      assert.deepEqual(await ids(fix(id, { cause, remedy: 'leave-out', from })), [400, 'IMPORT-FIX']);
    const deep = `{"user":{"userName":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_002)}`;
    assert.deepEqual(await ids(call('PATCH', `${id}/items/1`, deep)), [400, 'REQUEST-DEPTH']);
    assert.deepEqual(await ids(patch(id, 0, { userName: 'x' })), [400, 'IMPORT-ITEM-STATE']);
    assert.deepEqual(await ids(patch(id, 99, { userName: 'x' })), [404, 'IMPORT-ITEM-NOT-FOUND']);
    assert.deepEqual(await ids(call('GET', `${id}/items/x`)), [404, 'IMPORT-ITEM-NOT-FOUND']);
    assert.deepEqual(await ids(call('PATCH', `${id}/items/1`, [1])), [400, 'IMPORT-PATCH']);
    const dry = await imported([entry(name('dry'), { email: {} })], '?dryRun=true');
    assert.deepEqual(await ids(patch(dry, 0, { email: { email: 'a@example.com' } })), [400, 'IMPORT-DRY-RUN']);
    await pool.query('update imports set erased_to = total where id = $1', [id]);
    assert.deepEqual(await ids(patch(id, 1, { email: { email: 'a@example.com' } })), [400, 'IMPORT-ERASED']);
  });

  it('show no hash and no secret in any answer, whatever the field', async () => {
    const id = await imported([
      {
        ...entry(name('leaky'), {
          password: 'plain-secret-4711',
          otpCode: 'JBSWY3DPEHPK3PXP',
          email: { email: BAD_HASH },
        }),
        passwordHash: HASH,
      },
      entry(name('meta'), {
        email: {},
        metadata: [{ key: 'legacy_hash', value: Buffer.from(HASH).toString('base64') }],
      }),
    ]);
    const shown = (await call('GET', `${id}/items/0`)).body.entry;
    assert.deepEqual(
      [shown.passwordHash, shown.user.password, shown.user.email.email],
      [undefined, { withheld: true }, { withheld: true }],
    );
    await call('GET', `${id}/items/1`);
    await call('GET', `${id}/items`);
    for (const { cause, remedies } of (await causes(id)).causes)
      for (const remedy of remedies) await fix(id, { cause, remedy, domain: 'example.com', dryRun: true });
    await patch(id, 0, { email: { email: 'a b' }, hashedPassword: { value: BAD_HASH } });
    assert.ok(answered.length > 5000);
    for (const secret of [...PLANTED, Buffer.from(HASH).toString('base64').slice(0, 40)])
      assert.ok(!answered.includes(secret), `an answer contains ${secret}`);
  });
});
