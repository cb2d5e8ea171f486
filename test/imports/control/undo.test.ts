import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { UndoPreview } from '../../../src/contract/import-types.ts';
import { findUser, type User } from '../../../src/directory/users/store.ts';
import { isAnyUndoing, keptBecause, previewUndo, undoRound } from '../../../src/imports/control/undo.ts';
import { specialStores } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { ANYBODY } from '../../../src/messages/mail/codes.ts';
import { openPool, type Pool, transaction } from '../../../src/platform/db/pool.ts';
import { resetPassword } from '../../../src/signin/credentials/password-reset.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { bulk, OLD_PASSWORD, people, unverified } from '../../support/imports/bodies.ts';
import { entry, openWriterPool, setImport } from '../../support/imports/imports.ts';
import { assertSums } from '../../support/imports/outcome.ts';
import { hold, waiters } from '../../support/stores/locks.ts';
import { reportRead, rowsRead } from '../../support/stores/rows-read.ts';

describe('an undo', () => {
  let api: TestApi;
  let pool: Pool;
  let writer: Pool;
  let orgId: string;
  before(async () => {
    api = await startApi();
    pool = api.deps.pool;
    writer = openWriterPool(api.deps.config.DATABASE_URL);
  });
  beforeEach(async () => {
    orgId = (await api.call('POST', '/management/v1/orgs', { name: `Acme ${Math.random()}` })).body.id;
  });
  after(async () => {
    await writer.end();
    await api.stop();
  });

  const prefix = () => `p${Math.random().toString(36).slice(2)}-`;
  const act = (id: string, action: string, body: unknown = {}) =>
    api.call('POST', `/admin/v1/imports/${id}/${action}`, body);
  const result = async (id: string) => (await api.call('GET', `/admin/v1/imports/${id}`)).body;
  const items = async (id: string, state = '') =>
    (await api.call('GET', `/admin/v1/imports/${id}/items${state && `?state=${state}`}`)).body.items;
  const statusOf = async (userId: string) => (await api.call('GET', `/v2beta/users/${userId}`)).status;
  const login = (userId: string, password: string) =>
    api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } });
  const settle = (id: string, ordinals: number[]) => writeBatch(writer, id, ordinals, { codeTtlMs: 100_000 });
  async function accepted(humanUsers: unknown[]): Promise<string> {
    const { status, body } = await api.call('POST', '/admin/v1/import', bulk(orgId, humanUsers));
    assert.equal(status, 202);
    return body.importId;
  }
  async function imported(humanUsers: unknown[]): Promise<string> {
    const id = await accepted(humanUsers);
    await settle(
      id,
      humanUsers.map((_, i) => i),
    );
    return id;
  }
  async function undone(id: string, batch = 3): Promise<Answer['body']> {
    const { status, body } = await act(id, '_undo');
    assert.deepEqual([status, body.state], [200, 'IMPORT_STATE_UNDOING']);
    assertSums(body);
    while (await isAnyUndoing(pool)) {
      await undoRound(pool, batch);
      assertSums(await result(id));
    }
    return result(id);
  }
  async function events(aggregateType: string, id: string): Promise<string[]> {
    const { rows } = await pool.query(
      'select type from history where aggregate_type = $1 and aggregate_id = $2 order by sequence',
      [aggregateType, id],
    );
    return rows.map((r) => r.type);
  }

  it('removes every user of the import, their unsent mails with them, and frees ids and names', async () => {
    const users = unverified(prefix(), 7);
    const id = await imported(users);
    const sent = await pool.query(
      `update mail_outbox set state = 'sent' where id = (select min(id) from mail_outbox where import_id = $1)`,
      [id],
    );
    assert.equal(sent.rowCount, 1);
    await setImport(pool, id, { mails_sent: '1' });
    const { state, counts, mails, success } = await undone(id);
    assert.equal(state, 'IMPORT_STATE_UNDONE');
    assert.deepEqual([counts.undone, counts.succeeded, counts.total], [7, 0, 7]);
    assert.deepEqual(mails, { pending: 0, held: 0, sent: 1, failed: 0 });
    assert.deepEqual(success, { orgs: [] });
    assert.equal(await statusOf(users[0]?.userId as string), 404);
    assert.deepEqual(await events('import', id), ['import.accepted', 'import.undo.started', 'import.undone']);
    assert.deepEqual(await events('user', users[6]?.userId as string), ['user.human.imported', 'user.removed']);
    const { rows } = await pool.query(
      `select editor, payload from history where type = 'user.removed' and aggregate_id = $1`,
      [users[0]?.userId],
    );
    const { rows: owner } = await pool.query('select editor from events where type = $1 and aggregate_id = $2', [
      'import.undo.started',
      id,
    ]);
    assert.deepEqual(rows, [{ editor: owner[0].editor, payload: { importId: id } }]);
    const again = await imported(users);
    assert.equal((await result(again)).state, 'IMPORT_STATE_SUCCEEDED');
  });

  it('judges each user by key: reads no table as a whole, however many users are judged', async () => {
    const { rows } = await pool.query(
      `explain select ${keptBecause().replaceAll('$1', '1')} from users u cross join generate_series(1, 100000) as i`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    assert.match(plan, /events_pkey/);
    assert.doesNotMatch(plan, /hashed|Scan on (?:events|org_members|instance_members)/);
  });

  it('keeps users who have signed in, were changed, or are members, and says why', async () => {
    const users = people(prefix(), 8);
    const ids = users.map((u) => u.userId as string);
    const id = await imported(users);
    const [signedIn, wrong, changed, locked, member, deleted] = ids as [string, string, string, string, string, string];
    assert.equal((await login(signedIn, OLD_PASSWORD)).status, 201);
    assert.equal((await login(wrong, 'not it')).status, 400);
    const profile = { givenName: 'Bea', familyName: 'Brook' };
    assert.equal((await api.call('PUT', `/v2beta/users/human/${changed}`, { profile })).status, 200);
    for (const change of ['lock', 'unlock'])
      assert.equal((await api.call('POST', `/v2beta/users/${locked}/${change}`, {})).status, 200);
    const membership = { userId: member, roles: ['ORG_OWNER_VIEWER'] };
    assert.equal((await api.call('POST', '/management/v1/orgs/me/members', membership, { orgId })).status, 200);
    assert.equal((await api.call('DELETE', `/v2beta/users/${deleted}`)).status, 200);

    const preview = async () => (await api.call('GET', `/admin/v1/imports/${id}/undo_preview`)).body;
    const kept = [
      { reason: 'CHANGED', users: 2 },
      ...['DELETED', 'MEMBER', 'SIGNED_IN'].map((reason) => ({ reason, users: 1 })),
    ];
    const sorted = ({ reasons, ...rest }: Awaited<ReturnType<typeof preview>>) => ({
      ...rest,
      reasons: [...reasons].sort((a, b) => b.users - a.users || (a.reason < b.reason ? -1 : 1)),
    });
    assert.deepEqual(sorted(await preview()), { removed: 3, kept: 5, reasons: kept });
    await assert.rejects(
      previewUndo(pool, await result(id), () => false),
      /no longer waits/,
    );

    const { counts, success } = await undone(id);
    assert.deepEqual([counts.undone, counts.succeeded], [3, 5]);
    assert.deepEqual(sorted(await preview()), { removed: 0, kept: 5, reasons: kept }, 'what the undo did');
    assert.deepEqual(
      (await items(id, 'ITEM_STATE_SUCCEEDED')).map((i: { userId: string; kept: string }) => [i.userId, i.kept]),
      [
        [signedIn, 'SIGNED_IN'],
        [changed, 'CHANGED'],
        [locked, 'CHANGED'],
        [member, 'MEMBER'],
        [deleted, 'DELETED'],
      ],
    );
    assert.deepEqual(success.orgs[0].humanUserIds, [signedIn, changed, locked, member, deleted]);
    assert.deepEqual(
      (await items(id, 'ITEM_STATE_UNDONE')).map((i: { userId: string; kept?: string }) => [i.userId, i.kept]),
      [wrong, ids[6], ids[7]].map((userId) => [userId, undefined]),
    );
    assert.deepEqual(await Promise.all(ids.map(statusOf)), [200, 404, 200, 200, 200, 404, 404, 404]);
  });

  it('judges every kind of change as its preview does, which reads the events of changed users only', async () => {
    const users = people(prefix(), 30);
    const ids = users.map((u) => u.userId as string);
    const id = await imported(users);
    const change = async (method: string, path: string, body: object = {}) =>
      assert.ok((await api.call(method, path, body)).status < 300, path);
    const v2 = `/v2beta/users`;
    await change('PUT', `${v2}/human/${ids[0]}`, { username: prefix() });
    await change('POST', `${v2}/${ids[1]}/lock`);
    await change('POST', `${v2}/${ids[2]}/deactivate`);
    await change('POST', `${v2}/${ids[3]}/email`, { email: `${prefix()}@example.com` });
    await change('POST', `${v2}/${ids[4]}/password`, { newPassword: { password: 'a new password' } });
    const body = bulk(orgId, [
      { ...users[5], user: { ...users[5]?.user, profile: { firstName: 'Bea', lastName: 'Brook' } } },
    ]);
    const { importId } = (await api.call('POST', '/admin/v1/import?onExisting=update', body)).body;
    await specialStores(writer, { codeTtlMs: 100_000 }).update.write(importId, [0]);
    assert.equal((await result(importId)).counts.succeeded, 1);

    const observed = openPool(api.deps.config.DATABASE_URL, { max: 1 });
    const of = await result(id);
    let preview: UndoPreview | undefined;
    await reportRead(observed, pool);
    const read = await rowsRead(observed, pool, async () => {
      preview = await previewUndo(observed, of);
    }).finally(() => observed.end());
    assert.deepEqual(preview, { removed: 24, kept: 6, reasons: [{ reason: 'CHANGED', users: 6 }] });
    // A row and its entry in the index, for each changed user.
    assert.ok((read.events ?? 0) <= 2 * 6, JSON.stringify(read));
    assert.ok((read.org_members ?? 0) + (read.instance_members ?? 0) < users.length, JSON.stringify(read));
    const { counts } = await undone(id);
    assert.deepEqual([counts.undone, counts.succeeded], [24, 6]);
  });

  it('removes users for whom somebody has asked for a new password or another code, which changes nothing', async () => {
    const users = [entry(prefix()), entry(prefix(), { email: { email: 'open@example.com' } })];
    const id = await imported(users);
    for (const { userId } of users) {
      await transaction(pool, async (db) => {
        const user = (await findUser(db, userId as string, 'for update')) as User;
        await resetPassword({ db, secrets: api.deps.secrets, config: api.deps.config }, user, {}, ANYBODY);
      });
    }
    assert.deepEqual(await events('user', users[0]?.userId as string), [
      'user.human.imported',
      'user.human.password.code.added',
    ]);
    assert.equal((await undone(id)).counts.undone, 2);
  });

  it('recognises a sign-in after its session has ended and after the password was re-hashed', async () => {
    const users = people(prefix(), 2);
    const id = await imported(users);
    const [user] = users.map((u) => u.userId as string);
    const { body } = await login(user as string, OLD_PASSWORD);
    assert.equal((await api.call('DELETE', `/v2beta/sessions/${body.sessionId}`)).status, 200);
    assert.equal((await undone(id)).counts.succeeded, 1);
    assert.equal(await statusOf(user as string), 200);
  });

  it('a sign-in is recorded only once an hour', async () => {
    const [user] = people(prefix(), 1);
    await imported([user]);
    const at = async () =>
      (await pool.query('select last_login_at as at, sequence from users where id = $1', [user?.userId])).rows[0];
    assert.equal((await at()).at, null);
    await login(user?.userId as string, OLD_PASSWORD);
    const first = await at();
    await login(user?.userId as string, OLD_PASSWORD);
    assert.deepEqual(await at(), first);
    await pool.query(`update users set last_login_at = now() - interval '61 minutes' where id = $1`, [user?.userId]);
    await login(user?.userId as string, OLD_PASSWORD);
    assert.ok((await at()).at > first.at);
    assert.equal((await at()).sequence, first.sequence, 'a sign-in is not a change');
  });

  it('does not touch users that another import, or no import, created', async () => {
    const users = people(prefix(), 2);
    const first = await imported(users);
    const second = await imported([...users, ...people(prefix(), 1)]);
    assert.equal((await result(second)).counts.failed, 2);
    const { counts } = await undone(second);
    assert.deepEqual([counts.undone, counts.failed, counts.succeeded], [1, 2, 0]);
    assert.deepEqual(await Promise.all(users.map((u) => statusOf(u.userId as string))), [200, 200]);
    await api.call('DELETE', `/v2beta/users/${users[0]?.userId}`);
    await imported([users[0]]);
    assert.equal((await undone(first)).counts.undone, 1);
    assert.deepEqual(
      (await items(first)).map((i: { state: string; kept: string }) => [i.state, i.kept]),
      [
        ['ITEM_STATE_SUCCEEDED', 'NOT_CREATED'],
        ['ITEM_STATE_UNDONE', undefined],
      ],
    );
    assert.equal(await statusOf(users[0]?.userId as string), 200);
  });

  it('undoes what a stopped import has written; its pending items read as cancelled', async () => {
    for (const stop of ['_pause', '_cancel', 'timed out']) {
      const id = await accepted([...people(prefix(), 4), null]);
      await settle(id, [1, 2]);
      if (stop === 'timed out') await setImport(pool, id, { deadline: `clock_timestamp()` });
      else await act(id, stop);
      const { counts, state } = await undone(id);
      assert.deepEqual(
        [state, counts.undone, counts.cancelled, counts.pending, counts.timedOut, counts.failed],
        ['IMPORT_STATE_UNDONE', 2, 2, 0, 0, 1],
      );
      assert.equal((await items(id, 'CANCELLED')).length, 2);
      for (const action of ['_resume', '_retry', '_pause', '_cancel'])
        assert.equal((await act(id, action)).body.code, 9, action);
      await assert.rejects(settle(id, [0]), { code: 'MU001' });
    }
  });

  it('is idempotent, and is refused for an import that runs', async () => {
    const users = people(prefix(), 4);
    const id = await accepted(users);
    const refused = await act(id, '_undo');
    assert.deepEqual([refused.status, refused.body.code], [400, 9]);
    await settle(id, [0, 1, 2, 3]);
    await act(id, '_undo');
    await undoRound(pool, 2);
    assert.equal((await act(id, '_undo')).body.counts.undone, 2);
    await undoRound(pool, 2);
    const again = (await act(id, '_undo')).body;
    assert.deepEqual([again.state, again.counts.undone], ['IMPORT_STATE_UNDONE', 4]);
    assert.equal(await isAnyUndoing(pool), false);
    assert.deepEqual(await events('import', id), ['import.accepted', 'import.undo.started', 'import.undone']);
  });

  it('gives the same result with many workers at once', async () => {
    const users = unverified(prefix(), 60);
    const id = await imported(users);
    await act(id, '_undo');
    const hand = async () => {
      while (await isAnyUndoing(pool)) await undoRound(pool, 7);
    };
    await Promise.all([hand(), hand(), hand(), hand()]);
    const { counts, mails } = await result(id);
    assert.deepEqual([counts.undone, mails.pending], [60, 0]);
    const { rows } = await pool.query(
      `select count(*)::int as n from history where type = 'user.removed' and payload ->> 'importId' = $1`,
      [id],
    );
    assert.equal(rows[0].n, 60);
  });

  it('is refused with a query or a body that asks for something else', async () => {
    const id = await imported(people(prefix(), 1));
    for (const [query, body, error] of [
      ['?dryRun=true', {}, 'IMPORT-QUERY'],
      ['', { dryRun: true }, 'IMPORT-ACTION'],
      ['', [], 'IMPORT-ACTION'],
      ['', '{', 'REQUEST-JSON'],
    ] as const) {
      const refused = await act(id, `_undo${query}`, body);
      assert.deepEqual([refused.status, errorId(refused)], [400, error]);
      assert.equal((await result(id)).state, 'IMPORT_STATE_SUCCEEDED');
    }
  });

  it('waits for a change in progress, and keeps that user', async () => {
    const [user] = people(prefix(), 1);
    const id = await imported([user]);
    await act(id, '_undo');
    const change = await hold(pool, 'update users set last_login_at = now() where id = $1', [user?.userId]);
    const round = undoRound(pool, 10);
    await waiters(pool, 1);
    await change.commit();
    await round;
    assert.deepEqual((await items(id))[0].kept, 'SIGNED_IN');
  });

  it('removes users imported without a password, but not those who have set one', async () => {
    const none = { hashedPassword: undefined, email: { email: 'n@example.com' } };
    const users = [entry(prefix(), none), entry(prefix(), none)];
    const id = await imported(users);
    const newPassword = { password: 'a new one' };
    const [first] = users;
    assert.equal((await api.call('POST', `/v2beta/users/${first?.userId}/password`, { newPassword })).status, 200);
    const { counts, mails } = await undone(id);
    assert.deepEqual([counts.undone, counts.succeeded, mails.pending], [1, 1, 0]);
  });

  it('keeps the changed users and removes the others when their events are too old to be kept', async () => {
    const users = people(prefix(), 3);
    const id = await imported(users);
    const [changed] = users;
    assert.equal((await api.call('POST', `/v2beta/users/${changed?.userId}/lock`, {})).status, 200);
    await pool.query('delete from events where aggregate_id = any($1)', [users.map(({ userId }) => userId)]);
    const preview = (await api.call('GET', `/admin/v1/imports/${id}/undo_preview`)).body;
    assert.deepEqual([preview.removed, preview.kept], [2, 1]);
    const { counts } = await undone(id);
    assert.deepEqual([counts.undone, counts.succeeded], [2, 1]);
    assert.deepEqual(
      (await items(id)).map(({ kept }: { kept?: string }) => kept ?? ''),
      ['CHANGED', '', ''],
    );
  });
});
