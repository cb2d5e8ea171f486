/** Loops without a queue report their state, which `/readyz` of the worker shows. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../src/platform/config.ts';
import { openSecrets } from '../../src/platform/encryption.ts';
import { type Condition, openCondition } from '../../src/platform/lifecycle.ts';
import { startMaintenance } from '../../workers/maintenance.ts';
import { startWebhookSender } from '../../workers/webhooks.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const parts = (condition: Condition) => condition.failures().map(({ part }) => part);

test('failing sweeps and webhooks are named until they work again', async (t) => {
  const db = await testDatabase({ name: 'conditions' });
  const { pool } = db;
  const condition = openCondition();
  const key = Buffer.alloc(32, 7).toString('base64');
  const config = readConfig({ DATABASE_URL: db.url, ENCRYPTION_KEY: key });
  await pool.query('alter table oauth_models rename to gone; alter table webhook_deliveries rename to away');
  const deps = { pool, config, secrets: openSecrets(key), logger: pino({ level: 'silent' }), condition };
  const loops = [startMaintenance(deps), startWebhookSender(deps)];
  t.after(async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
    await db.drop();
  });
  await waitFor(() => parts(condition).length === 2, { what: 'both failures' });
  assert.deepEqual(parts(condition).sort(), ['sweeper of oauth', 'webhooks']);

  await pool.query('alter table gone rename to oauth_models; alter table away rename to webhook_deliveries');
  await waitFor(() => parts(condition).length === 0, { what: 'their recovery' });
});
