/** The role of Muster's containers owns its database and nothing else. */
import assert from 'node:assert/strict';
import test from 'node:test';
import pg from 'pg';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startRoleDatabase } from './stores.ts';

test('the role of deploy/postgres-role.sql is no superuser, and owns its database only', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const { url, role, asAdmin } = await startRoleDatabase(t);
  const rights = asAdmin(
    `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = '${role}'`,
  );
  assert.equal(rights, 'f|f|f|f|f');
  const owned = asAdmin(`select datname from pg_database where pg_get_userbyid(datdba) = '${role}'`);
  assert.equal(owned, role);
  const reached = asAdmin(`select datname from pg_database where has_database_privilege('${role}', oid, 'connect')
    and datallowconn and datname !~ '^(muster$|template_)'`); // those of the test server
  assert.equal(reached, role);

  // A pool would end the connection of a query that failed without waiting for it.
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const forbidden of [
    'create role another',
    'create database another',
    `select pg_read_file('postgresql.conf')`,
    `copy (select 1) to program 'true'`,
    `alter role ${role} superuser`,
  ]) {
    await assert.rejects(client.query(forbidden), { code: '42501' }, forbidden);
  }
  // Before the server stops, which would end its connection.
  await client.end();
  const other = new pg.Client({ connectionString: url.replace(/\/[^/]*$/, '/postgres') });
  await assert.rejects(other.connect(), { code: '42501' });
});
