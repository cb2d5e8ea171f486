/** What a process runs before it is ready, and that it leaves nothing behind. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { warmUp as readNobody } from '../../src/imports/intake/warm-up.ts';
import { openQueues } from '../../src/imports/queue/queues.ts';
import { readConfig } from '../../src/platform/config.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { openSecrets } from '../../src/platform/encryption.ts';
import { warmUp } from '../../workers/warm-up.ts';
import { freePort } from '../support/free-port.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../support/stores/redis.ts';

const reasons: unknown[] = [];
const logger = { debug: (given: unknown) => void reasons.push(given) };

for (const kind of ['redis', 'postgres'] as const) {
  test(`a worker runs a thousand jobs of nobody with the queue on ${kind}`, async (t) => {
    if (kind === 'redis' && !requireOrSkip(t, 'redis')) return;
    const db = await testDatabase({ name: `warm_up_${kind}` });
    const settings = settingsOf(db.url, kind === 'redis' ? redisUrl() : undefined);
    const queues = openQueues(settings);
    t.after(() => queues.close().finally(() => db.drop()));
    const done = await Promise.all([
      warmUp(db.pool, settings, logger, 60_000),
      warmUp(db.pool, settings, logger, 60_000),
    ]);
    // Both have the id of this process, so the second may find the jobs of the first.
    assert.ok(done[0] + done[1] >= 1000, String(done));
    assert.deepEqual(reasons, []);
    assert.equal(await queues.depth('warm-up'), 0);
    assert.equal(await queues.depth('imports'), 0);
  });
}

test('a worker warms up no longer than it may while the queue is away', async () => {
  const db = await testDatabase({ name: 'warm_up_away' });
  try {
    const away = `redis://127.0.0.1:${await freePort()}`;
    assert.equal(await warmUp(db.pool, settingsOf(db.url, away), logger, 50), 0);
    assert.ok(reasons.length > 0, 'it tells why');
  } finally {
    await db.drop();
  }
});

test('the API reads users of nobody, and asks no store', async () => {
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  const pool = new Proxy({} as Pool, { get: (_, name) => assert.fail(`it used ${String(name)} of the pool`) });
  assert.equal(await readNobody({ pool, secrets, config: readConfig({}) }), 5000);
});

function settingsOf(url: string, redis: string | undefined) {
  const QUEUE_PREFIX = `t${randomBytes(6).toString('hex')}`;
  return { DATABASE_URL: url, REDIS_URL: redis, QUEUE_PREFIX, WORKER_CONCURRENCY: 400 };
}
