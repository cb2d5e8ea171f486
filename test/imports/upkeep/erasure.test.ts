/** The passes of an erasure: every table is read in ranges, until a pass finds nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEraser, TRACES } from '../../../src/imports/upkeep/erasure.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

test('the passes of an erasure end with one that found nothing, and the request goes', async (t) => {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  const round = openEraser(pool);
  assert.equal(await round(), 5000, 'nothing to do');
  // More than one range of blocks.
  await pool.query(
    `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
     select 'user', case n % 2 when 0 then 'ann' else 'bea' end, 'org', 'user.locked', 'ann',
       jsonb_build_object('text', repeat('x', 200)) from generate_series(1, 30000) n`,
  );
  await pool.query(
    `insert into erasures (user_id, org_id, tombstone, names, editor) values ('ann', 'org', 'erased:1', '{ann}', 'ann')`,
  );
  const isPending = async () => (await pool.query('select from erasures')).rowCount === 1;
  let rounds = 0;
  for (; rounds < 500 && (await isPending()); rounds++) assert.equal(await round(), 5);
  assert.ok(rounds > 2 * TRACES.length + 2, `${rounds} rounds`);
  const { rows } = await pool.query(
    'select aggregate_id, editor, type, count(*)::int from events group by 1, 2, 3 order by 1, 2, 3',
  );
  assert.deepEqual(rows, [
    { aggregate_id: 'bea', editor: 'erased:1', type: 'user.locked', count: 15_000 },
    { aggregate_id: 'erased:1', editor: 'erased:1', type: 'user.erased', count: 1 },
    { aggregate_id: 'erased:1', editor: 'erased:1', type: 'user.locked', count: 15_000 },
  ]);
});

test('an audit event of the same moment is erased, though its rounded time is later', async (t) => {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  // 0.8966 and 0.8967 seconds; audit events keep milliseconds.
  await pool.query(
    `insert into audit_events (created_at, type, actor_kind, actor_id, user_id, org_id, payload) values
       ('2026-01-01T00:00:00.8966Z', 'user.removed', 'machine', 'owner', 'ann', 'org', null),
       ('2026-01-01T00:00:00.8966Z', 'login.failed', 'anonymous', null, null, 'org', '{"loginName": "ann.ash"}')`,
  );
  await pool.query(
    `insert into erasures (user_id, org_id, tombstone, names, editor, created_at)
     values ('ann', 'org', 'erased:1', '{ann.ash}', 'owner', '2026-01-01T00:00:00.8967Z')`,
  );
  const round = openEraser(pool);
  for (let rounds = 0; rounds < 500 && (await pool.query('select from erasures')).rowCount === 1; rounds++) {
    await round();
  }
  const { rows } = await pool.query(
    `select user_id, payload ->> 'loginName' as name from audit_events where type <> 'user.erased' order by sequence`,
  );
  assert.deepEqual(rows, [
    { user_id: 'erased:1', name: null },
    { user_id: null, name: null },
  ]);
});

test('ids of deleted users that an earlier version stored become hashes, and stay taken elsewhere', async (t) => {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  await pool.query(`insert into removed_user_ids (id, org_id) select 'u' || n, 'org' from generate_series(1, 1005) n`);
  const taken = async () =>
    (await pool.query(`select user_id_taken('u7', 'org') as own, user_id_taken('u7', 'other') as other`)).rows[0];
  assert.deepEqual(await taken(), { own: false, other: true });
  const round = openEraser(pool);
  assert.deepEqual([await round(), await round()], [5, 5000]);
  assert.equal((await pool.query('select from removed_user_ids')).rowCount, 0);
  assert.equal((await pool.query('select from removed_users where length(id_hash) = 16')).rowCount, 1005);
  assert.deepEqual(await taken(), { own: false, other: true });
  const add = (org: string) =>
    pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       values ('u7', $1, 'human', 'active', 'u7', 'u7', 1)`,
      [org],
    );
  await assert.rejects(add('other'), { constraint: 'users_pkey' });
  await add('org');
});
