/** A backup that was taken in mid-import, restored on an empty queue. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
import { bulk, unverified } from '../support/imports/bodies.ts';
import { beginHeld, moreUsers } from '../support/imports/hold.ts';
import { assertEachOnce, mailsByAddress } from '../support/imports/outcome.ts';
import { onEachBackend, startService } from '../support/processes/service.ts';
import { findProgram, requireOrSkip } from '../support/runner/programs.ts';
import { startDistributionServer } from '../support/stores/distribution.ts';

const run = promisify(execFile);
const USERS = 300;

onEachBackend('a database that was dumped in mid-import', async (t, backend) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const server = await startDistributionServer();
  const env = { ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const [before, after] = [server.url, server.url.replace(/muster$/, 'restored')].map((url) => ({
    url,
    pool: openPool(url),
  })) as [Database, Database];
  const onStopped = async () => {
    await Promise.all([before, after].map(({ pool }) => pool.end()));
    await server.stop();
  };

  const old = await startService(t, { backend, database: before, workers: 0, env, onStopped });
  const org = await old.newOrg();
  await old.startWorker({ WORKER_ROLES: 'import,dispatch,rescue' });
  const { importId, gates } = await beginHeld(old, bulk(org.orgId, unverified('r', USERS)), [USERS / 2]);
  await moreUsers(old.pool, importId, 0);
  await copy(before.url, after.url);
  for (const gate of gates) await gate.commit();

  await t.test('continues on an empty queue: every user once, every mail once', async (t) => {
    const service = await startService(t, {
      ...{ backend, database: after, workers: 0 },
      env: { ...env, BOOTSTRAP_TOKEN: old.token },
    });
    assert.ok((await after.pool.query('select from import_items where state = $1', ['pending'])).rowCount);
    await service.startWorker();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    const counts = mailsByAddress(service);
    assert.deepEqual([counts.size, new Set(counts.values())], [USERS, new Set([1])]);
  });
});

interface Database {
  url: string;
  pool: Pool;
}

/** As in docs/operations.md. */
async function copy(from: string, to: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-dump-'));
  const program = (name: string) => join(dirname(findProgram('postgres') as string), name);
  try {
    const file = join(folder, 'muster.dump');
    await run(program('pg_dump'), ['--format=custom', `--file=${file}`, from]);
    await run(program('psql'), [from, '-c', `create database ${new URL(to).pathname.slice(1)}`]);
    await run(program('pg_restore'), ['--exit-on-error', `--dbname=${to}`, file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
