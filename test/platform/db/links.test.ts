/** Migration 182: links that exist stay, clashes among them are named, and imports that ended know their links. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { linkClashes, linksOf } from '../../../src/directory/idp-links.ts';
import { judgeLinks } from '../../../src/imports/entries/links.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { addProvider } from '../../support/idp-rows.ts';
import { migrationsBefore } from '../../support/stores/migrations.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

test('an upgrade loses no link, names accounts that two users have, and reads the links of old imports', async (t) => {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  await pool.query('drop schema public cascade; create schema public');
  await migrate(pool, await migrationsBefore(t, 182));
  await pool.query(
    `insert into organizations (id, name, primary_domain, sequence) values ('acme', 'Acme', 'acme.example', 1)`,
  );
  await pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
     select 'u' || n, 'acme', 'human', 'initial', 'u' || n, 'u' || n, 1 from generate_series(1, 3) as n`,
  );
  await pool.query(
    `insert into user_idp_links values ('u1', 'google-oauth2', '1', 'Ann'), ('u2', 'Google-oauth2', '1', 'Bea'),
       ('u3', 'google-oauth2', '3', 'Cleo'), ('u3', 'github', '1', 'cleo')`,
  );
  await pool.query(
    `insert into imports (id, kind, state, created_by, resource_owner, total, succeeded, sign_ins_of, accepted_at, finished_at)
     overriding system value values (7, 'bulk', 'succeeded', 'ann', 'acme', 3, 3, '0:0:0:0', now(), now())`,
  );
  await pool.query(
    `insert into import_orgs (import_id, org_index, org_id, total, succeeded) values (7, 0, 'acme', 3, 3)`,
  );
  await pool.query(
    `insert into import_items (import_id, ordinal, org_index, state, user_id, user_name, sign_in)
     select 7, n - 1, 0, 'succeeded', 'u' || n, 'u' || n, 8 | 8192 from generate_series(1, 3) as n`,
  );
  await pool.query('insert into import_sign_ins (import_id, org_index, facts, users) values (7, 0, 8 | 8192, 3)');

  await migrate(pool);
  const { rows } = await pool.query('select count(*)::int as n from user_idp_links');
  assert.deepEqual(rows, [{ n: 4 }]);
  assert.deepEqual(await linkClashes(pool), {
    clashes: [{ orgId: 'acme', idpId: 'google-oauth2', accounts: 1, users: 2 }],
    total: 1,
  });
  const idpId = await addProvider(pool, { name: 'Google', aliases: ['google-oauth2'] });
  assert.deepEqual((await linkClashes(pool)).clashes[0]?.idpId, idpId);
  assert.equal((await linksOf(pool, 'u1'))[0]?.isHeldTwice, true);

  assert.deepEqual((await pool.query('select sign_ins_of from imports')).rows, [{ sign_ins_of: '' }], 'counted again');
  await transaction(pool, (inside) => judgeLinks(inside, '7'));
  const items = await pool.query('select links, sign_in & 65536 <> 0 as held from import_items order by ordinal');
  assert.deepEqual(items.rows, [
    { links: null, held: true },
    { links: null, held: true },
    { links: ['github', 'google-oauth2'], held: false },
  ]);
});
