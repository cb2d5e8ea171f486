/** Only migrating needs the right to change the schema, and no process uses a database that is not UTF8. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import pino from 'pino';
import { migrateQueue } from '../../src/imports/queue/schema.ts';
import { readConfig } from '../../src/platform/config.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { openCondition } from '../../src/platform/lifecycle.ts';
import { prepareDatabase } from '../../src/start/database.ts';
import { waitForSchema } from '../../src/start/schema.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { read } from './compose.ts';
import { startRoleDatabase } from './stores.ts';

onEachBackend('API and workers run with a role that may not change the schema', async (t, backend) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const { url, role, asAdmin } = await startRoleDatabase(t);
  const runtime = new URL(url);
  Object.assign(runtime, { username: `${role}_runtime`, password: randomBytes(12).toString('hex') });
  const sql = read('deploy/postgres-runtime-role.sql').replaceAll(/\bmuster(?=\b|_runtime\b)/g, role);
  const grant = () => asAdmin(`\\connect ${role}\n${sql}`, { MUSTER_RUNTIME_PASSWORD: runtime.password });
  const owner = openPool(url, { max: 2 });
  t.after(() => owner.end());
  await migrate(owner);
  await migrateQueue(owner);
  grant();
  grant(); // as after an upgrade

  const service = await startService(t, { backend, database: { url: runtime.href, pool: owner } });
  const org = await service.newOrg();
  const { importId, state } = await service.imported(bulk(org.orgId, unverified('r', 30)));
  assert.equal(state, 'IMPORT_STATE_SUCCEEDED');
  await waitFor(() => service.smtp.mails.length === 30, { what: 'the mails' });
  await must(service.call('POST', `/admin/v1/imports/${importId}/_undo`));
  const users = async () => (await owner.query(`select from users where id like 'id-r%'`)).rowCount;
  await waitFor(async () => (await users()) === 0, { what: 'the undo' });

  const pool = openPool(runtime.href, { max: 1 });
  await assert.rejects(pool.query('create table t (id int)'), { code: '42501' });
  await assert.rejects(pool.query('alter table users add x int'), { code: '42501' });
  await pool.end();
});

test('a role that may not change the schema is told to migrate', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const { url, role, asAdmin } = await startRoleDatabase(t);
  asAdmin(`\\connect ${role}\nalter schema public owner to current_user; revoke create on schema public from public;`);
  await assert.rejects(prepareDatabase(url, readConfig({})), /run "npm run migrate" with the role that owns/);
});

test('a database that is not UTF8 is refused by every process', async (t) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const { url, role, asAdmin } = await startRoleDatabase(t);
  assert.equal(asAdmin(`select pg_encoding_to_char(encoding) from pg_database where datname = '${role}'`), 'UTF8');
  asAdmin(`create database ${role}_ascii owner ${role} encoding 'SQL_ASCII' locale 'C' template template0`);
  const ascii = url.replace(`/${role}?`, `/${role}_ascii?`).replace(new RegExp(`/${role}$`), `/${role}_ascii`);
  await assert.rejects(prepareDatabase(ascii, readConfig({})), /encoding is SQL_ASCII; it must be UTF8/);
  const pool = openPool(ascii, { max: 1 });
  t.after(() => pool.end());
  const waiting = waitForSchema({
    pool,
    withQueue: false,
    logger: pino({ level: 'silent' }),
    condition: openCondition(),
    stopping: new AbortController().signal,
  });
  await assert.rejects(waiting, /encoding is SQL_ASCII; it must be UTF8/);
});
