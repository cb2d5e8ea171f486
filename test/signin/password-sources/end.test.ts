/** The end of a password source: users who remain get the initialisation email. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { endRound } from '../../../src/signin/password-sources/store.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { type Entry, entry, openWriterPool } from '../../support/imports/imports.ts';
import { runMuster } from '../../support/processes/muster.ts';

const PATH = '/management/v1/password_sources';

describe('the end of a password source', () => {
  let api: TestApi;
  let writer: Pool;
  let org: SetUp;
  before(async () => {
    api = await startApi();
    writer = openWriterPool(api.deps.config.DATABASE_URL);
    org = await api.setupOrg();
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const muster = (args: string[], env: Record<string, string> = {}) =>
    runMuster(['password-sources', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: api.token, ...env } });
  async function addSource(until?: string): Promise<string> {
    const body = { name: 'Old', kind: 'http', settings: { url: 'https://old.example.com' }, until };
    return (await api.call('POST', PATH, body, { orgId: org.orgId })).body.sourceId;
  }
  const bare = (name: string, user: Record<string, unknown> = {}) =>
    entry(name, { hashedPassword: undefined, ...user });
  async function imported(people: Entry[], query: string): Promise<string> {
    const answer = await api.call('POST', `/admin/v1/import?${query}`, bulk(org.orgId, people));
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    await writeBatch(writer, answer.body.importId, [...people.keys()], SETTINGS);
    return answer.body.importId;
  }
  async function endAll(): Promise<void> {
    while (await endRound(api.deps.pool, SETTINGS));
  }
  const users = async (importId: string) =>
    (
      await api.deps.pool.query(
        `select u.user_name as name, u.state, u.password_hash as hash, m.kind, m.import_id::text as "importId"
         from users u left join mail_outbox m on m.user_id = u.id where u.import_id = $1 order by u.user_name`,
        [importId],
      )
    ).rows;
  const due = async (importId: string) =>
    (await api.deps.pool.query('select mails_due as n from imports where id = $1', [importId])).rows[0].n;

  it('gives those who remain one mail, which counts for their import', async () => {
    const [sourceId, other] = [await addSource(), await addSource()];
    const people = [
      bare('a'),
      { ...bare('b'), state: 'USER_STATE_LOCKED' },
      bare('c', { email: undefined }),
      entry('d'),
    ];
    const importId = await imported(people, `passwordSource=${sourceId}&withoutEmail=true`);
    const stays = await imported([bare('e')], `passwordSource=${other}`);
    await endAll();
    assert.equal((await users(importId))[0].state, 'active', 'nothing has ended yet');

    const ended = await muster(['end', sourceId, '--yes']);
    assert.match(ended.stdout, /has ended\. 3 users will get an email/, ended.stderr);
    await Promise.all([endAll(), endAll()]);
    const none = { kind: null, importId: null };
    const [a, b, c, d] = await users(importId);
    assert.deepEqual(a, { name: 'a', state: 'initial', hash: null, kind: 'initialise', importId });
    assert.deepEqual(b, { name: 'b', state: 'locked', hash: null, ...none });
    assert.deepEqual(c, { name: 'c', state: 'initial', hash: null, ...none });
    assert.deepEqual([d.state, d.kind], ['active', null]);
    assert.equal(await due(importId), 1);
    assert.equal((await users(stays))[0].state, 'active');
    const { rows } = await api.deps.pool.query(
      `select payload from events where aggregate_id = 'id-a' and type = 'user.human.password_source.ended'`,
    );
    assert.deepEqual(rows, [{ payload: { sourceId } }]);
    const status = await muster(['status', sourceId]);
    assert.match(status.stdout, /^ended: 0 migrated, 0 remain$/m);
    assert.equal((await muster(['delete', sourceId, '--yes'])).code, 0);
  });

  it('comes by itself at its time, and for users that an import adds later', async () => {
    const sourceId = await addSource('2099-01-01T00:00:00Z');
    const importId = await imported([bare('f')], `passwordSource=${sourceId}&mails=none`);
    await api.deps.pool.query(`update password_sources set until = now() where id = $1`, [sourceId]);
    await endAll();
    assert.deepEqual(
      (await users(importId)).map(({ state, kind }) => [state, kind]),
      [['initial', 'initialise']],
    );
    const { body } = await api.call('GET', `${PATH}/${sourceId}`);
    assert.equal(body.passwordSource.state, 'PASSWORD_SOURCE_STATE_ENDED');
    assert.ok(body.passwordSource.endDate);

    const late = await addSource();
    const answer = await api.call('POST', `/admin/v1/import?passwordSource=${late}`, bulk(org.orgId, [bare('g')]));
    await api.call('DELETE', `${PATH}/${late}`);
    await writeBatch(writer, answer.body.importId, [0], SETTINGS);
    await endAll();
    assert.deepEqual((await users(answer.body.importId))[0].state, 'initial');
  });

  it('does not end users of other sources, however many there are', async () => {
    const sources = [await addSource(), await addSource(), await addSource()];
    const imports = [];
    for (const [n, id] of sources.entries()) imports.push(await imported([bare(`h${n}`)], `passwordSource=${id}`));
    await api.call('POST', `${PATH}/${sources[1]}/_end`, {});
    await endAll();
    const states = await Promise.all(imports.map(async (id) => (await users(id))[0].state));
    assert.deepEqual(states, ['active', 'initial', 'active']);
  });

  it('is managed from the command line, which shows no secret', async () => {
    const settings = ['--set', 'url=ldaps://ldap.example.com', '--set', 'searchBase=dc=a', '--set', 'bindDn=cn=b'];
    const search = [...settings, '--set', 'searchFilter=(uid={name})', '--kind', 'ldap', '--org', org.orgId];
    const made = await muster(['create', 'Old', ...search, '--secret', '--until', '90d'], {
      MUSTER_SOURCE_SECRET: 'not shown',
    });
    assert.equal(made.code, 0, made.stderr);
    const id = /source id +(\S+)/.exec(made.stdout)?.[1] ?? '';
    const shown = await muster(['show', id]);
    assert.match(shown.stdout, /^searchFilter +\(uid=\{name\}\)$/m);
    assert.doesNotMatch(`${made.stdout}${made.stderr}${shown.stdout}`, /not shown/);
    assert.match((await muster(['list', '--org', org.orgId])).stdout, new RegExp(`^${id} +Old +ldap +active`, 'm'));
    const signed = await muster([
      'create',
      'Web',
      '--kind',
      'http',
      '--org',
      org.orgId,
      '--set',
      'url=https://a.example',
    ]);
    assert.match(signed.stdout, /^secret +whsec_/m);
    for (const wrong of [
      ['--set', 'url'],
      ['--set', 'clientSecret=a'],
      ['--set', 'caCertificate=@/nowhere'],
      ['--kind', 'saml'],
      ['--secret'],
    ]) {
      assert.equal(
        (await muster(['create', 'x', '--kind', 'http', '--org', org.orgId, ...wrong])).code,
        2,
        wrong.join(),
      );
    }
    // No such host: the source is not asked.
    const tested = await muster(['test', id, 'ann'], { MUSTER_SOURCE_PASSWORD: 'secret' });
    assert.deepEqual([tested.code, /^No answer: /.test(tested.stdout)], [1, true], tested.stderr);
  });
});
