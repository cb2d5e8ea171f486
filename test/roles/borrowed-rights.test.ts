/**
 * No borrowed rights: whatever somebody starts, changes or continues of another one's import runs with their own
 * rights too, as long as they have them.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { convertRound } from '../../src/imports/drafts/convert-round.ts';
import { specialStores } from '../../src/imports/run/stores.ts';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { type Entry, entry, errorIdOf, HASH, itemRows, openWriterPool } from '../support/imports/imports.ts';
import { must } from './rows.ts';

/** Of a password that the attacker knows. */
const CHOSEN = '$2b$04$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';

let api: TestApi;
let writer: Pool;
before(async () => {
  api = await startApi();
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
});

interface Scene {
  orgId: string;
  /** An owner of the organization. */
  owner: { userId: string; token: string };
  /** A user of the organization who is an IAM_OWNER. */
  boss: string;
}

async function scene(): Promise<Scene> {
  const { orgId } = await api.setupOrg();
  const boss = unique('boss');
  const { importId } = await must(api, 'POST', '/admin/v1/import', bulk(orgId, [entry(boss)]));
  await writeBatch(writer, importId, [0], SETTINGS);
  await must(api, 'POST', '/admin/v1/members', { userId: `id-${boss}`, roles: ['IAM_OWNER'] });
  return { orgId, owner: await api.machine(orgId, ['ORG_OWNER']), boss };
}

/** What gives the attacker a password of the user. */
const taken = (boss: string): Entry => entry(boss, { hashedPassword: { value: CHOSEN } });
const at = (importId: string, action = '') => `/admin/v1/imports/${importId}${action}`;
const stateOf = async (importId: string) => (await must(api, 'GET', at(importId), undefined)).state;

async function hashOf(boss: string): Promise<string> {
  return (await api.deps.pool.query('select password_hash as hash from users where id = $1', [`id-${boss}`])).rows[0]
    .hash;
}

async function written(importId: string, count = 1): Promise<unknown[]> {
  const ordinals = [...Array(count).keys()];
  await specialStores(writer, SETTINGS).update.write(importId, ordinals);
  return (await itemRows(api.deps.pool, importId)).map((item) => errorIdOf(item) ?? item.state);
}

async function roleLost(orgId: string, userId: string): Promise<void> {
  await must(api, 'DELETE', `/management/v1/orgs/me/members/${userId}`, undefined, orgId);
}

/** An updating import of the instance's administrator, one of whose entries is invalid. */
async function failedImport(orgId: string, boss: string): Promise<string> {
  const { userId: _, ...bad } = entry(unique('bad'), { email: { email: 'none' } });
  const people = [bad as Entry, taken(boss)];
  const body = bulk(orgId, people);
  const { importId } = await must(api, 'POST', '/admin/v1/import?onExisting=update', body);
  return importId;
}

test('a correction of an entry has the rights of whoever makes it', async () => {
  const { orgId, owner, boss } = await scene();
  const { userId: _, ...bad } = entry(unique('bad'), { email: { email: 'none' } });
  const { importId } = await must(api, 'POST', '/admin/v1/import?onExisting=update', bulk(orgId, [bad as Entry]));
  const user = { userName: boss, email: { email: `${boss}@example.com` }, hashedPassword: { value: CHOSEN } };
  const patched = await api.call('PATCH', at(importId, '/items/0'), { user }, owner);
  assert.equal(patched.status, 200, JSON.stringify(patched.body));
  await must(api, 'POST', at(importId, '/_cancel'), {}).catch(() => {}); // it has ended
  await must(api, 'POST', at(importId, '/_retry'), { timeout: '10m' });
  assert.equal((await written(importId))[0], 'AUTH-PERMISSION');
  assert.equal(await hashOf(boss), HASH);
});

test('a correction of all entries of a cause has the rights of whoever makes it', async () => {
  const { orgId, owner, boss } = await scene();
  const spaced = entry(boss, { hashedPassword: { value: CHOSEN }, email: { email: ` ${boss}@example.com ` } });
  const { importId } = await must(api, 'POST', '/admin/v1/import?onExisting=update', bulk(orgId, [spaced]));
  const { causes } = await must(api, 'GET', at(importId, '/causes'), undefined);
  const body = { cause: causes[0].cause, remedy: 'trim-email' };
  const fixed = await api.call('POST', at(importId, '/_fix'), body, owner);
  assert.deepEqual([fixed.status, fixed.body.changed], [200, 1], JSON.stringify(fixed.body));
  await must(api, 'POST', at(importId, '/_cancel'), {}).catch(() => {}); // it has ended
  await must(api, 'POST', at(importId, '/_retry'), { timeout: '10m' });
  assert.equal((await written(importId))[0], 'AUTH-PERMISSION');
  assert.equal(await hashOf(boss), HASH);
});

for (const action of ['_resume', '_retry']) {
  test(`${action} runs with the rights of whoever asks for it`, async () => {
    const { orgId, owner, boss } = await scene();
    const importId = await failedImport(orgId, boss);
    if (action === '_retry') {
      const email = { email: { email: 'some@example.com' } };
      await must(api, 'PATCH', at(importId, '/items/0'), { user: email });
    }
    await must(api, 'POST', at(importId, '/_cancel'), {});
    const again = await api.call('POST', at(importId, `/${action}`), { timeout: '10m' }, owner);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal((await written(importId, 2))[1], 'AUTH-PERMISSION');
    assert.equal(await hashOf(boss), HASH);
    // With enough rights it can still be done.
    await must(api, 'POST', at(importId, '/_cancel'), {}).catch(() => {});
    await must(api, 'POST', at(importId, '/_retry'), { timeout: '10m' });
    assert.equal((await written(importId, 2))[1], 'succeeded');
    assert.equal(await hashOf(boss), CHOSEN);
  });
}

/** A file that gives the attacker a password of the user. */
const fileOf = (boss: string) => `id,email,userName,hash\nid-${boss},${boss}@example.com,${boss},${CHOSEN}\n`;
const MAPPING = { userId: 'id', email: 'email', userName: 'userName', hash: 'hash' };

async function converted(importId: string, by: { token?: string }, orgId?: string): Promise<void> {
  const body = { source: 'csv', mapping: MAPPING, orgId };
  const asked = await api.call('POST', at(importId, '/_convert'), body, by);
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
  assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
}

const start = (importId: string, by: { token?: string } = {}) =>
  api.call('POST', at(importId, '/_start'), { timeout: '10m', onExisting: 'update' }, by);

for (const parts of ['file', 'mapping', 'start', 'check']) {
  test(`a draft has the rights of everybody who made a part of it: ${parts}`, async () => {
    const { orgId, owner, boss } = await scene();
    const by = (part: string) => (part === parts ? { token: owner.token } : {});
    const importId = await newDraft(api, { orgId });
    await uploadFile(api, importId, fileOf(boss), {}, by('file'));
    await converted(importId, by('mapping'));
    if (parts === 'check') {
      const asked = await api.call('POST', at(importId, '/_check'), { onExisting: 'update' }, by('check'));
      assert.equal(asked.status, 200, JSON.stringify(asked.body));
      assert.equal(await convertRound(api.deps, 'test', new AbortController().signal), true);
      const { check } = (await must(api, 'GET', at(importId), undefined)).draft;
      await specialStores(writer, SETTINGS).dry.write(check.importId, [0]);
      const [item] = await itemRows(api.deps.pool, check.importId);
      assert.equal(errorIdOf(item), 'AUTH-PERMISSION');
      return;
    }
    const started = await start(importId, by('start'));
    assert.equal(started.status, 200, JSON.stringify(started.body));
    assert.deepEqual(await written(importId), ['AUTH-PERMISSION']);
    assert.equal(await hashOf(boss), HASH);
  });
}

test('a draft writes nobody into an organization of which a maker of it has no rights', async () => {
  const { orgId, owner, boss } = await scene();
  const other = (await api.setupOrg()).orgId;
  const importId = await newDraft(api, { orgId });
  await uploadFile(api, importId, fileOf(boss), {}, owner);
  await converted(importId, {}, other);
  const refused = await start(importId);
  assert.deepEqual([refused.status, errorId(refused)], [400, 'IMPORT-RIGHTS']);
});

const LOSSES: [name: string, lose: (scene: Scene) => Promise<unknown>][] = [
  ['their role', ({ orgId, owner }) => roleLost(orgId, owner.userId)],
  ['their account', ({ owner }) => must(api, 'DELETE', `/v2beta/users/${owner.userId}`, undefined)],
  ['an active account', ({ owner }) => must(api, 'POST', `/v2beta/users/${owner.userId}/deactivate`, {})],
  ['an open account', ({ owner }) => must(api, 'POST', `/v2beta/users/${owner.userId}/lock`, {})],
];

for (const [what, lose] of LOSSES) {
  test(`the imports and streams of somebody end when they lose ${what}`, async () => {
    const of = await scene();
    const { orgId, owner } = of;
    const send = (query = '') =>
      api.call('POST', `/admin/v1/import${query}`, bulk(orgId, [entry(unique('new'))]), owner);
    const running = (await send()).body.importId;
    const paused = (await send()).body.importId;
    await must(api, 'POST', at(paused, '/_pause'), {});
    const others = (await must(api, 'POST', '/admin/v1/import', bulk(orgId, [entry(unique('new'))]))).importId;
    const draft = (await send('?draft=true')).body.importId;
    const stream = async (importId: string) => {
      const headers = { authorization: `Bearer ${owner.token}` };
      return fetch(`${api.url}${at(importId, '/events')}`, { headers, signal: AbortSignal.timeout(20_000) });
    };
    const [own, another] = [await stream(running), await stream(others)];
    await lose(of);
    for (const importId of [running, paused]) assert.equal(await stateOf(importId), 'IMPORT_STATE_CANCELLED', what);
    assert.equal(await stateOf(others), 'IMPORT_STATE_RUNNING');
    await assert.rejects(writeBatch(writer, running, [0], SETTINGS), { code: 'MU001' });
    const result = await must(api, 'GET', at(running), undefined);
    assert.match(JSON.stringify(result.warnings), /may no longer import/);
    await Promise.all([own.text(), another.text()]);
    for (const answer of [
      await api.call('POST', at(running, '/_resume'), { timeout: '10m' }),
      await api.call('POST', at(running, '/_retry'), { timeout: '10m' }),
      await start(draft),
    ]) {
      assert.deepEqual([answer.status, errorId(answer)], [400, 'IMPORT-RIGHTS'], JSON.stringify(answer.body));
    }
    const { rows } = await api.deps.pool.query(
      `select editor, payload from events where type = 'import.cancelled' and aggregate_id = $1`,
      [running],
    );
    assert.deepEqual(rows, [{ editor: 'system', payload: { reason: 'rights', userId: owner.userId } }]);
  });
}

test('an undo of somebody who loses their role stops, and another one continues it', async () => {
  const { orgId, owner } = await scene();
  const { importId } = await must(api, 'POST', '/admin/v1/import', bulk(orgId, [entry(unique('new'))]));
  await writeBatch(writer, importId, [0], SETTINGS);
  assert.equal((await api.call('POST', at(importId, '/_undo'), {}, owner)).status, 200);
  await roleLost(orgId, owner.userId);
  assert.equal(await stateOf(importId), 'IMPORT_STATE_CANCELLED');
  await must(api, 'POST', at(importId, '/_undo'), {});
  assert.equal(await stateOf(importId), 'IMPORT_STATE_UNDOING');
});

const profile = { firstName: 'Ann', lastName: 'Arbor' };
const BODIES: [path: string, bodyOf: (orgId: string) => unknown][] = [
  ['/admin/v1/import', (orgId) => bulk(orgId, [entry(unique('new'))])],
  ['/admin/v1/import?draft=true', (orgId) => bulk(orgId, [entry(unique('new'))])],
  ['/management/v1/users/human/_import', () => ({ userName: unique('n'), profile, email: { email: 'n@example.com' } })],
];

for (const [path, bodyOf] of BODIES) {
  test(`a body that ends after its caller lost the role is refused: ${path}`, async () => {
    const { orgId, owner } = await scene();
    const body = JSON.stringify(bodyOf(orgId));
    const [begun, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* slowly() {
      yield Buffer.from(body.slice(0, -10));
      begun.resolve();
      await rest.promise;
      yield Buffer.from(body.slice(-10));
    }
    const answered = fetch(api.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: ReadableStream.from(slowly()),
      duplex: 'half',
    } as RequestInit);
    await begun.promise;
    await setTimeout(300); // until the caller was read
    await roleLost(orgId, owner.userId);
    rest.resolve();
    assert.equal((await answered).status, 403);
  });
}
