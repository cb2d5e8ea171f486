/** Migration 173: drafts that exist become imports that have not started, and processes of the version before do no harm. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type pg from 'pg';
import { claimJob, endJob } from '../../../src/imports/drafts/convert-lease.ts';
import { listDrafts, readDraft } from '../../../src/imports/drafts/draft.ts';
import { eraseDrafts } from '../../../src/imports/drafts/erase.ts';
import { countStates, readProgress } from '../../../src/imports/status/progress.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { describeSchema } from '../../../src/platform/db/print-schema.ts';
import { migrationsBefore } from '../../support/stores/migrations.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

/** What processes of the version before execute, as prepared statements too. */
const OLD = {
  look: `select exists (select from imports where state in ('receiving', 'running')) as rescue,
    exists (select from import_drafts
      where (state = 'converting' or state = 'checking' and check_id is null) and expires_at > clock_timestamp()
        and (held_until is null or held_until < clock_timestamp())) as convert`,
  claim: `update import_drafts set holder = 'old', held_until = clock_timestamp(), attempts = attempts + 1
    where import_id = (
      select d.import_id from import_drafts d join imports i on i.id = d.import_id, lateral (
        select count(*) from import_drafts held join imports h on h.id = held.import_id
        where held.held_until > clock_timestamp() and h.resource_owner = i.resource_owner) at_work (jobs)
      where (d.state = 'converting' or d.state = 'checking' and d.check_id is null)
        and d.expires_at > clock_timestamp() and (d.held_until is null or d.held_until < clock_timestamp())
      order by at_work.jobs, d.requested_at limit 1 for update of d skip locked)
    returning import_id, state, run, attempts`,
  renew: `update import_drafts set held_until = clock_timestamp(), progress = coalesce('{}', progress)
    where import_id = 2 and state = 'converting' and run = 1 and holder = 'old' and expires_at > clock_timestamp()`,
  erase: `select d.import_id as id from import_drafts d
    where (d.expires_at <= clock_timestamp()
        or d.state in ('discarded', 'started') and exists (select from import_files f where f.import_id = d.import_id)
        or d.state = 'discarded' and exists (select from import_items t where t.import_id = d.import_id))
      and (d.held_until is null or d.held_until < clock_timestamp())
    order by d.expires_at limit 1 for update of d skip locked`,
  sweep: `select id from imports where state = 'receiving' and changed_at < now() - interval '5 minutes'`,
  lock: 'select state from import_drafts where import_id = 1 for update',
  read: `select d.org_id, d.orgs, d.result, d.check_id, d.changed_at, d.expires_at, d.sequence, case when d.state = 'checking' and c.state <> 'running' then 'checked' else d.state::text end as shown
    from import_drafts d join imports i on i.id = d.import_id left join imports c on c.id = d.check_id
    where d.state <> 'started' and d.expires_at > clock_timestamp()`,
  list: `select i.id, i.state from imports i where i.kind = 'bulk' and i.state <> 'receiving' and i.removed_to is null
    order by i.id`,
  count: `select count(*)::int as drafts from import_drafts d join imports i on i.id = d.import_id
    where d.state not in ('discarded', 'started') and d.expires_at > clock_timestamp() and i.resource_owner = 'acme'`,
  piece: `update import_files f set received = received + 1 where import_id = 1 and size > received
    and exists (select from import_drafts d where d.import_id = 1 and d.state = 'uploading')`,
};

const CREATE = `with draft as (
    insert into import_drafts (import_id, org_id, orgs, sequence, expires_at, state, result)
    values (100, null, '{}', 1, clock_timestamp() + interval '1 hour', 'uploading', null) returning expires_at)
  update imports set changed_at = draft.expires_at from draft where id = 100`;

/** Drafts in each state, by their ids; 5 is being checked by 20, and 7 has started. */
const DRAFTS: [string, string, Record<string, string>][] = [
  ['1', 'uploading', {}],
  ['2', 'converting', { requested_at: 'now()', holder: `'old'`, held_until: `now() + interval '1 minute'`, run: '1' }],
  ['3', 'unreadable', { error: `'{"code":3}'`, requested_at: 'now()' }],
  ['4', 'draft', { result: `'{"source":"csv","total":1,"failed":0,"orgs":[]}'`, requested_at: 'now()' }],
  ['5', 'checking', { requested_at: 'now()', check_id: '20', result: `'{"total":1,"failed":0,"orgs":[]}'` }],
  ['6', 'discarded', { requested_at: 'now()' }],
  ['7', 'started', {}],
];

async function before(t: TestContext): Promise<Pool> {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  await pool.query('drop schema public cascade; create schema public');
  await migrate(pool, await migrationsBefore(t, 173));
  return pool;
}

async function insertDrafts(pool: Pool): Promise<void> {
  const insert = `insert into imports (id, kind, state, created_by, resource_owner, changed_at, accepted_at, deadline, total)
    values ($1, 'bulk', $2, 'ann', 'acme', now() + interval '1 day', now(), now() + interval '1 day', 1)`;
  await pool.query(insert, ['20', 'succeeded']);
  await pool.query(insert, ['21', 'receiving']);
  for (const [id, state, columns] of DRAFTS) {
    await pool.query(insert, [id, state === 'started' ? 'running' : 'receiving']);
    const names = Object.keys(columns).map((name) => `, ${name}`);
    const values = Object.values(columns).map((value) => `, ${value}`);
    await pool.query(
      `insert into import_drafts (import_id, state, sequence, changed_at, expires_at${names.join('')})
       values ($1, $2, $3, '2026-01-02', now() + interval '1 hour'${values.join('')})`,
      [id, state, `1${id}`],
    );
    await pool.query(
      `insert into import_files (import_id, file_id, kind, name, size, key_sealed) values ($1, 'f', 'users', 'f', 4, 'k')`,
      [id],
    );
  }
}

async function runOld(db: pg.PoolClient): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const [name, text] of Object.entries(OLD)) {
    await db.query('begin');
    const { rows, rowCount, command } = await db.query({ name, text });
    await db.query('rollback');
    found[name] = command === 'SELECT' || rows.length > 0 ? rows : Array(rowCount ?? 0).fill({});
  }
  return found;
}

test('drafts keep their state, and go on under the new version', async (t) => {
  const pool = await before(t);
  await insertDrafts(pool);
  await migrate(pool);
  const shown = (await listDrafts(pool, { of: undefined, pageSize: 10, before: undefined })).map((draft) => [
    draft.importId,
    draft.state,
    draft.sequence,
    draft.changedAt.toISOString().slice(0, 10),
    draft.files.length,
  ]);
  const states = { 5: 'checked', 4: 'draft', 3: 'unreadable', 2: 'converting', 1: 'uploading' };
  assert.deepEqual(
    shown,
    Object.entries(states)
      .reverse()
      .map(([id, state]) => [id, state, `1${id}`, '2026-01-02', 1]),
  );
  assert.equal((await readDraft(pool, '6'))?.state, 'discarded', 'the list leaves it out');
  assert.deepEqual((await readDraft(pool, '3'))?.error, { code: 3 });
  assert.equal((await readDraft(pool, '4'))?.source, 'csv');
  assert.equal(await readDraft(pool, '7'), undefined);
  assert.equal((await readProgress(pool, '7'))?.state, 'IMPORT_STATE_RUNNING');
  assert.equal((await countStates(pool, { of: undefined, orgId: undefined })).drafts, 5);

  assert.equal(await claimJob(pool, 'new'), undefined, 'the lease of the old worker has not expired');
  await pool.query('update import_preparations set held_until = now() where import_id = 2');
  const job = await claimJob(pool, 'new');
  assert.deepEqual([job?.importId, job?.state], ['2', 'converting']);
  assert.equal(job && (await transaction(pool, (db) => endJob(db, job, 'draft'))), true);
  assert.equal(await claimJob(pool, 'new'), undefined, 'nothing else is work');

  while (await eraseDrafts(pool));
  const { rows } = await pool.query(
    `select i.id, i.state from imports i where not exists (select from import_files f where f.import_id = i.id) order by 1`,
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['6', '7', '20', '21'],
    'the files of what was discarded or has started',
  );
});

test('processes of the version before find no draft, change none and make none, and see the same imports', async (t) => {
  const pool = await before(t);
  await insertDrafts(pool);
  const db = await pool.connect();
  try {
    const earlier = await runOld(db);
    assert.deepEqual([earlier.read?.length, earlier.claim?.length, earlier.piece?.length], [6, 0, 1]);
    await migrate(pool);
    const contents = async () =>
      (await pool.query('select to_jsonb(d) from import_preparations d order by import_id')).rows;
    const rows = await contents();
    assert.deepEqual(await runOld(db), {
      ...earlier,
      look: [{ rescue: true, convert: false }],
      ...Object.fromEntries(['claim', 'renew', 'erase', 'lock', 'read', 'piece'].map((name) => [name, []])),
      count: [{ drafts: 0 }],
    });
    assert.deepEqual(earlier.list, [
      { id: '7', state: 'running' },
      { id: '20', state: 'succeeded' },
    ]);
    await db.query(
      `insert into imports (id, kind, state, created_by, resource_owner) values (100, 'bulk', 'receiving', 'ann', 'acme')`,
    );
    await assert.rejects(db.query(CREATE), /import_drafts/);
    assert.deepEqual(await contents(), rows);
  } finally {
    db.release();
  }
});

test('an empty database and one with drafts get the same schema', async (t) => {
  const pool = await before(t);
  await insertDrafts(pool);
  await migrate(pool);
  const { pool: fresh, drop } = await testDatabase();
  t.after(drop);
  assert.equal(await describeSchema(pool), await describeSchema(fresh));
});
