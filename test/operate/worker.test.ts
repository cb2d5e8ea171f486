/** What a worker counts itself: attempts to deliver webhooks. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { setWebhookSecret } from '../../src/messages/webhooks/signature.ts';
import { openWorkerMetrics } from '../../src/operate/metrics.ts';
import { openSecrets } from '../../src/platform/encryption.ts';
import { addOrgs } from '../support/imports/imports.ts';
import { startReceiver } from '../support/receiver.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { sendDue } from '../support/webhooks/send-due.ts';
import { sample, scrape } from './served.ts';

test('webhooks are counted by the outcome of each attempt', async (t) => {
  const [{ pool, drop }, receiver] = await Promise.all([testDatabase(t), startReceiver()]);
  t.after(() => Promise.all([drop(), receiver.stop()]));
  const metrics = openWorkerMetrics(pool);
  const secrets = openSecrets(Buffer.alloc(32, 9).toString('base64'));
  await addOrgs(pool, 'org');
  await setWebhookSecret(pool, secrets, 'org', 'admin');
  await pool.query(
    `insert into imports (kind, state, created_by, resource_owner, webhook_url, webhook_org)
     values ('bulk', 'running', 'admin', 'org', $1, 'org')`,
    [receiver.url],
  );
  await pool.query(`update imports set state = 'succeeded'`);
  const compose = async () => '{}';
  const deps = { pool, secrets, compose, logger: pino({ level: 'silent' }), post: { allowPrivate: true } };
  const counts = async () => {
    const text = await scrape(metrics);
    return ['sent', 'retry', 'failed'].map((o) => sample(text, `muster_webhook_attempts_total{outcome="${o}"}`));
  };
  receiver.answer(500);
  assert.equal(await sendDue(deps), 1);
  assert.deepEqual(await counts(), [0, 1, 0]);
  await pool.query('update webhook_deliveries set next_attempt_at = now()');
  assert.equal(await sendDue(deps), 1);
  assert.deepEqual(await counts(), [1, 1, 0]);
  receiver.answer(410); // does not want them any more
  await pool.query(`update webhook_deliveries set state = 'pending', settled_at = null, next_attempt_at = now()`);
  assert.equal(await sendDue(deps), 1);
  assert.deepEqual(await counts(), [1, 1, 1]);
});
