/** An operator moves the queue from Redis to PostgreSQL and back while users, hashes and mails are pending. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { bulk, unverified } from '../../support/imports/bodies.ts';
import { entry } from '../../support/imports/imports.ts';
import { assertEachOnce, mailsByAddress } from '../../support/imports/outcome.ts';
import { type Backend, must, type Service, startService } from '../../support/processes/service.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { addSigningKey } from '../../support/stores/signing-key.ts';
import { waitFor } from '../../support/wait.ts';

const USERS = 300;
const PLAIN = 3;

test('work that waits on one queue is done on the other, each user once, and back', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const env = {
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    BOOTSTRAP_TOKEN: randomBytes(24).toString('base64url'),
    QUEUE_PREFIX: `o${randomBytes(6).toString('hex')}`,
  };
  await addSigningKey(database.pool, openSecrets(env.ENCRYPTION_KEY));
  let pending: string | undefined;
  // Each stop ends all processes of one queue; the next ones start with the other.
  for (const [round, backend] of (['redis', 'postgres', 'redis'] as const).entries()) {
    await t.test(`stop ${round} on ${backend}`, async (t) => {
      const service = await startService(t, { backend, workers: 0, env, database });
      if (pending !== undefined) await isDone(service, pending);
      pending = round < 2 ? await leaveWork(service, backend, round) : undefined;
    });
  }
});

/** An import whose users are in the queue, and nobody takes them. */
async function leaveWork(service: Service, backend: Backend, round: number): Promise<string> {
  const { orgId } = await service.newOrg();
  const users = unverified(`${backend}${round}-`, USERS);
  const plain = Array.from({ length: PLAIN }, (_, i) =>
    entry(`${backend}${round}-plain${i}`, { hashedPassword: undefined, password: 'a plain horse battery' }),
  );
  const { importId } = (await must(service.importBody(bulk(orgId, [...users, ...plain], '1h')))).body;
  await service.startWorker({ WORKER_ROLES: 'dispatch' });
  const queued = async () => (await service.depth()) === USERS + PLAIN;
  await waitFor(queued, { what: `jobs on ${backend}` });
  return importId;
}

async function isDone(service: Service, importId: string): Promise<void> {
  assert.equal((await must(service.call('GET', `/admin/v1/imports/${importId}`))).body.counts.succeeded, 0);
  const worker = await service.startWorker();
  const { counts } = await service.waitForEnd(importId);
  assert.deepEqual([counts.succeeded, counts.failed], [USERS + PLAIN, 0]);
  await assertEachOnce(service, importId, { users: USERS + PLAIN, mails: USERS });
  assert.deepEqual([...new Set(mailsByAddress(service).values())], [1]);
  // What the first queue still holds is of users who are written: it is taken and does nothing.
  const empty = async () => (await service.depth()) === 0 && (await service.depth('hashes')) === 0;
  await waitFor(empty, { what: 'an empty queue' });
  worker.kill('SIGTERM');
  await worker.exited;
}
