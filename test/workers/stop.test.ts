/** A worker that stops hands back the users whose passwords it has not begun to hash. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { openQueues } from '../../src/imports/queue/queues.ts';
import { pointerJob } from '../../src/imports/run/dispatch.ts';
import { type Hasher, openHasher } from '../../src/passwords/hasher.ts';
import { readConfig } from '../../src/platform/config.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { acceptImport, addOrgs, entry, importRow, SECRETS } from '../support/imports/imports.ts';
import { BACKENDS } from '../support/processes/service.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 30;
const THREADS = 1;

for (const kind of BACKENDS) {
  test(`plain passwords that wait for a stopping worker are hashed by another one (${kind})`, async (t) => {
    if (kind === 'redis' && !requireOrSkip(t, 'redis')) return;
    const db = await testDatabase({ name: `stop_${kind}` });
    const config = {
      ...readConfig({
        ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
        QUEUE_PREFIX: `stop${process.pid}`,
        HASH_THREADS: String(THREADS),
        JOB_LOCK_MS: '600000', // nothing is taken over
        ...(kind === 'redis' ? { REDIS_URL: redisUrl() as string } : {}),
      }),
      DATABASE_URL: db.url,
    };
    const queues = openQueues(config);
    const hasher = openHasher({ threads: THREADS, bcryptCost: 4 });
    const logged: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line) => void logged.push(line) });
    const start = (by: Hasher) => startImportWorker({ config, secrets: SECRETS, hasher: by, queues, logger });
    t.after(async () => {
      await queues.close();
      await hasher.close();
      await db.drop();
    });

    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const slow: Hasher = {
      ...hasher,
      hash(plain) {
        begun++;
        return gate.promise.then(() => hasher.hash(plain));
      },
    };
    await addOrgs(db.pool, 'org');
    const users = Array.from({ length: USERS }, (_, n) =>
      entry(`u${n}`, { password: `secret-${n}`, hashedPassword: undefined }),
    );
    const importId = await acceptImport(db.pool, users);
    await queues.add(
      'imports',
      users.map((_, n) => pointerJob(importId, n)),
    );
    const first = start(slow);
    await waitFor(() => first.inProgress() === USERS && begun > 0, { what: 'the worker to have all users' });
    const stopped = first.stop();
    await waitFor(() => first.inProgress() === begun, { what: 'the other users to be handed back' });
    gate.resolve();
    await stopped;
    assert.ok(begun <= 2 * THREADS, `${begun} passwords were begun`);
    assert.equal((await importRow(db.pool, importId)).succeeded, begun);

    const second = start(hasher);
    await waitFor(async () => (await importRow(db.pool, importId)).state === 'succeeded', { what: 'all users' });
    await second.stop();
    assert.equal((await queues.depth('imports')) + (await queues.depth('hashes')), 0);
    assert.deepEqual(logged, []);
  });
}
