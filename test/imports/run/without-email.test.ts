/** `withoutEmail=true`: users who have only a user name, from the import to the log-in. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { bulk, OLD_PASSWORD } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { type Entry, entry, HASH, openWriterPool } from '../../support/imports/imports.ts';
import { judge } from '../../support/imports/judge.ts';

const WITHOUT = { withoutEmail: true };

describe('an entry without an email address', () => {
  it('fails unless the import allows it', () => {
    for (const email of [undefined, null, {}, { email: '' }, { email: null, isEmailVerified: true }]) {
      const given = entry('ann', { email });
      assert.equal(judge(structuredClone(given)).item.state, 'failed', JSON.stringify(email));
      const { item, problems } = judge(given, WITHOUT);
      assert.deepEqual(problems, []);
      if (item.state !== 'pending') assert.fail();
      assert.deepEqual([item.email, item.emailKey, item.emailVerified], [null, null, false]);
    }
  });

  it('needs a user name', () => {
    const { problems } = judge(
      entry('ann', { email: undefined, userName: undefined, password: 'a', gender: 1 }),
      WITHOUT,
    );
    assert.ok(problems.includes('user.userName: is required for a user without an email address'), problems.join());
    assert.ok(problems.some((problem) => problem.startsWith('user.password:')));
  });

  it('may not hold an invalid address instead', () => {
    assert.deepEqual(judge(entry('ann', { email: { email: 'ann' } }), WITHOUT).item.state, 'failed');
    assert.deepEqual(judge(entry('ann', { email: 'ann@example.com' }), WITHOUT).item.state, 'failed');
  });
});

describe('an import of users without an email address', () => {
  let api: TestApi;
  let writer: Pool;
  let orgId: string;
  before(async () => {
    api = await startApi();
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    orgId = (await api.call('POST', '/management/v1/orgs', { name: 'Acme' })).body.id;
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const nameless = (name: string, user: Record<string, unknown> = {}): Entry =>
    entry(name, { email: undefined, ...user });
  async function accept(people: unknown[], query: string): Promise<string> {
    const answer = await api.call('POST', `/admin/v1/import?${query}`, bulk(orgId, people));
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return answer.body.importId;
  }
  const mailsDue = async (id: string) => {
    const { rows } = await api.deps.pool.query('select mails_due, state from imports where id = $1', [id]);
    return rows[0];
  };
  const get = async (id: string) => (await api.call('GET', `/v2beta/users/${id}`)).body.user;
  const session = (loginName: string) =>
    api.call('POST', '/v2beta/sessions', {
      checks: { user: { loginName }, password: { password: OLD_PASSWORD } },
    });

  it('writes them without a mail; they log in with their user name; the report lists them', async () => {
    const hashed = { hashedPassword: { value: HASH } };
    const people = [
      nameless('ann', hashed),
      nameless('bob', { hashedPassword: undefined }),
      entry('cid', { ...hashed, email: { email: 'cid@example.com' } }),
    ];
    const id = await accept(people, 'withoutEmail=true');
    await writeBatch(writer, id, [0, 1, 2], SETTINGS);
    assert.deepEqual(await mailsDue(id), { mails_due: 1, state: 'succeeded' });
    const ann = await get('id-ann');
    assert.deepEqual([ann.state, ann.human.email], ['USER_STATE_ACTIVE', { email: '', isVerified: false }]);
    assert.equal((await get('id-bob')).state, 'USER_STATE_INITIAL');
    assert.equal((await session('ann')).status, 201);
    const report = async (format: string) =>
      (await api.call('GET', `/admin/v1/imports/${id}/report?format=${format}`)).body.trim().split(/\r?\n/);
    const lines = (await report('ndjson')).map((line: string) => JSON.parse(line).withoutEmail);
    assert.deepEqual(lines, [true, true, undefined]);
    const [header, first, , third] = await report('csv');
    assert.match(header, /,withoutEmail$/);
    assert.deepEqual([first.endsWith(',true'), third.endsWith(',')], [true, true]);
  });

  it('lets them choose a password by a code, and refuses what would need an address', async () => {
    const refused = await api.call('POST', '/v2beta/users/id-bob/password_reset', { sendLink: {} });
    assert.deepEqual([refused.status, errorId(refused)], [400, 'EMAIL-NONE']);
    const resent = await api.call('POST', '/v2beta/users/id-ann/email/resend', {});
    assert.deepEqual([resent.status, errorId(resent)], [400, 'EMAIL-NONE']);
    const { verificationCode } = (await api.call('POST', '/v2beta/users/id-bob/password_reset', { returnCode: {} }))
      .body;
    const set = { newPassword: { password: 'a long enough one' }, verificationCode };
    assert.equal((await api.call('POST', '/v2beta/users/id-bob/password', set)).status, 200);
    assert.equal((await get('id-bob')).state, 'USER_STATE_ACTIVE');
    const given = { email: 'ann@example.com', isVerified: true };
    assert.equal((await api.call('POST', '/v2beta/users/id-ann/email', given)).status, 200);
    assert.deepEqual((await get('id-ann')).human.email, given);
  });

  it('updates an existing user, who keeps the address', async () => {
    const id = await accept(
      [nameless('cid', { profile: { firstName: 'Cyd', lastName: 'Ce' } })],
      'withoutEmail=true&onExisting=update',
    );
    await specialStores(writer, SETTINGS).update.write(id, [0]);
    const { human } = await get('id-cid');
    assert.deepEqual([human.profile.givenName, human.email.email], ['Cyd', 'cid@example.com']);
  });

  it('counts no mail for them in a dry run', async () => {
    const id = await accept(
      [nameless('dan', { hashedPassword: undefined }), entry('eve', { email: { email: 'eve@example.com' } })],
      'withoutEmail=true&dryRun=true',
    );
    await specialStores(writer, SETTINGS).dry.write(id, [0, 1]);
    assert.deepEqual(await mailsDue(id), { mails_due: 1, state: 'succeeded' });
  });

  it('can be downloaded to be sent again', async () => {
    const id = await accept([nameless('fay')], 'withoutEmail=true');
    await api.call('POST', `/admin/v1/imports/${id}/_cancel`, {});
    const { dataOrgs } = (await api.call('GET', `/admin/v1/imports/${id}/report?format=dataorgs`)).body;
    const [{ humanUsers }] = dataOrgs.orgs;
    assert.deepEqual(judge(humanUsers[0], WITHOUT).problems, []);
    assert.equal('email' in humanUsers[0].user, false);
  });
});
