/** The service behind PgBouncer in transaction mode, where no setting, name or lock of a session lasts. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { bulk, OLD_PASSWORD, people } from '../../support/imports/bodies.ts';
import { onEachBackend, startService } from '../../support/processes/service.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startPgBouncer } from '../../support/stores/pgbouncer.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const USERS = 400;

onEachBackend('an import, a login and an undo behind PgBouncer in transaction mode', async (t, backend) => {
  if (!requireOrSkip(t, 'pgbouncer')) return;
  const database = await testDatabase({ name: 'pgbouncer' });
  const bouncer = await startPgBouncer(database.url);
  const env = { DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: database.url, HASH_THREADS: '2' };
  const service = await startService(t, { backend, database, env, workers: 2, onStopped: () => bouncer.stop() });
  const org = await service.newOrg();
  const users = people('b', USERS);
  const result = await service.imported(bulk(org.orgId, users));
  assert.deepEqual([result.state, result.counts.succeeded], ['IMPORT_STATE_SUCCEEDED', USERS]);

  const one = users[0] as { userId: string };
  const checks = { user: { userId: one.userId }, password: { password: OLD_PASSWORD } };
  assert.equal((await service.call('POST', '/v2beta/sessions', { checks })).status, 201);

  const path = `/admin/v1/imports/${result.importId}`;
  await service.call('POST', `${path}/_undo`, {});
  const status = async () => (await service.call('GET', path)).body;
  await waitFor(async () => (await status()).state === 'IMPORT_STATE_UNDONE', { what: 'the undo' });
  assert.equal((await status()).counts.undone, USERS - 1); // not the one who has signed in

  // What a session of the pooler has kept would reach the next client.
  const bare = new pg.Pool({ connectionString: bouncer.url, max: 1 });
  const settings = `select count(*)::int as n from pg_settings where source = 'session' and name ~ '^(jit|enable_|plan_)'`;
  assert.deepEqual((await bare.query(settings)).rows, [{ n: 0 }]);
  assert.deepEqual((await bare.query('select count(*)::int as n from pg_prepared_statements')).rows, [{ n: 0 }]);
  await bare.end();
});
