/**
 * A disk of PostgreSQL or Redis that is full: requests are answered 503, `/readyz` and a few lines of the log name the
 * reason, and everything continues by itself when there is space again.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { type Db, openPool } from '../../src/platform/db/pool.ts';
import { type Answer, errorId } from '../support/answers.ts';
import { freePort } from '../support/free-port.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { startUpload } from '../support/imports/upload.ts';
import { warnings } from '../support/processes/launch.ts';
import { must, onEachBackend, startService } from '../support/processes/service.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { type SmallDisk, smallDiskOrSkip } from '../support/stores/small-disk.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 300;
const FULL = '53100';
/** Rows of more than one COPY takes at once. */
const PADDED = { metadata: [{ key: 'padding', value: 'A'.repeat(2000) }] };
const REQUESTS = 40;
/** Groups of repeated lines: the reasons differ in the file that could not grow. */
const MOST_GROUPS = 15;

onEachBackend('a full disk of PostgreSQL', async (t, backend) => {
  const disk = await smallDiskOrSkip(t, 64);
  if (!disk) return;
  const database = await testDatabase(t, disk.dir);
  const service = await startService(t, {
    backend,
    workers: 0,
    env: { RESCUE_AFTER_MS: '1000', JOB_LOCK_MS: '2000', LOGIN_DELAY_MS: '0' },
    database,
    async onStopped() {
      await database.drop();
      await disk.unmount();
    },
  });
  const port = await freePort();
  const worker = await service.startWorker({ HEALTH_PORT: String(port) });
  const readiness = [service.url, `http://127.0.0.1:${port}`];
  const { orgId, domain } = await service.newOrg();
  const login = () => service.login(`ann0@${domain}`, 'secret');
  /** A few still fit into the free space of the pages that the tables have. */
  const failedLogin = async () => {
    const answer = await login();
    return answer.status === 201 ? undefined : answer;
  };
  await service.imported(bulk(orgId, people('ann', 1)));
  assert.equal((await login()).status, 201);
  worker.kill('SIGSTOP');
  const { importId } = (await must(service.importBody(bulk(orgId, unverified('a', USERS))))).body;
  const body = JSON.stringify(bulk(orgId, people('b', USERS, PADDED)));

  await t.test('makes uploads, logins and single imports 503, and none of them is half done', async (t) => {
    const db = await service.pool.connect();
    t.after(() => db.release());
    const before = await visibleRows(db);
    const upload = startUpload(service);
    await upload.write(body.slice(0, body.length / 2));
    await waitFor(() => rowsReceived(db), { what: 'rows of the upload' });
    await disk.fill();
    worker.kill('SIGCONT');
    const { status, text, headers } = await upload.end(body.slice(body.length / 2));
    assertUnavailable({
      status,
      body: JSON.parse(text),
      headers: new Headers({ 'retry-after': `${headers['retry-after']}` }),
    });
    assertUnavailable(await waitFor(failedLogin, { what: 'a login that finds no space' }));
    const single = () => service.call('POST', '/management/v1/users/human/_import', one('c'), { orgId });
    for (const answer of await Promise.all(Array.from({ length: REQUESTS }, single))) assertUnavailable(answer);
    assert.deepEqual(await visibleRows(db), before);
  });

  await t.test('is named by /readyz of each process, and by few lines of each log', async () => {
    const { counts } = (await must(service.call('GET', `/admin/v1/imports/${importId}`))).body;
    assert.deepEqual([counts.total, counts.failed], [USERS, 0]);
    await refuseConnections(disk);
    for (const url of readiness) {
      // At first the database may be what does not answer in time.
      await waitFor(
        async () => {
          const { status, body } = await service.call('GET', '/readyz', undefined, { url });
          return status === 503 && (body.failing as { part: string }[]).some(({ part }) => part === 'disk');
        },
        { what: `${url}/readyz to name the disk` },
      );
    }
    for (const one of service.processes) {
      const lines = warnings(one.output()).filter((line) => JSON.stringify(line).includes(FULL));
      const groups = lines.filter(({ repeats }) => repeats === undefined).length;
      assert.ok(groups > 0 && groups <= MOST_GROUPS, `${groups} groups of lines: ${JSON.stringify(lines)}`);
    }
  });

  await t.test('delays everything, and ends nothing', async () => {
    await disk.free();
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
    assert.equal((await login()).status, 201);
    const again = await service.imported(body);
    assert.equal(again.counts.succeeded, USERS);
    await must(service.call('POST', '/management/v1/users/human/_import', one('c'), { orgId }));
    for (const url of readiness) {
      const isReady = async () => (await service.call('GET', '/readyz', undefined, { url })).status === 200;
      await waitFor(isReady, { what: `${url} to be ready` });
    }
  });
});

onEachBackend('a PostgreSQL that ends because the disk of its log is full', async (t, backend) => {
  const disk = await smallDiskOrSkip(t, 512);
  if (!disk) return;
  const settings = { fsync: 'off', synchronous_commit: 'on', max_wal_size: '64MB' };
  const events: string[] = [];
  const log = (line: string) => events.push(line);
  const server = await startEmbeddedPostgres({ dataDir: disk.dir, settings, background: true, log });
  const pool = openPool(server.url, { max: 3, name: 'test' });
  const service = await startService(t, {
    backend,
    workers: 0,
    env: { RESCUE_AFTER_MS: '1000', JOB_LOCK_MS: '2000' },
    database: { url: server.url, pool },
    async onStopped() {
      await pool.end();
      await server.stop();
      await disk.unmount();
    },
  });
  const worker = await service.startWorker();
  const { orgId } = await service.newOrg();
  worker.kill('SIGSTOP');
  const { importId } = (await must(service.importBody(bulk(orgId, unverified('d', USERS))))).body;
  await disk.fill();
  const { pid } = server;
  const hasFailed = async () => {
    await pool.query(`select pg_logical_emit_message(false, 'test', repeat('x', 4000000))`).catch(() => {});
    return events.some((line) => line.includes('when its disk has space'));
  };
  await waitFor(hasFailed, { what: 'PostgreSQL to end, and to fail to start again' });
  worker.kill('SIGCONT');
  assertUnavailable(await service.importBody(bulk(orgId, people('e', 1))));
  assert.equal((await service.call('GET', '/readyz')).status, 503);
  await disk.free();
  assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
  await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  assert.notEqual(server.pid, pid);
});

/** Too large for the free space of any page, also when it is compressed. */
function one(name: string): unknown {
  const metadata = [{ key: 'padding', value: randomBytes(6000).toString('base64') }];
  return people(name, 1, { metadata })[0]?.user;
}

function assertUnavailable(answer: Answer): void {
  assert.deepEqual([answer.status, errorId(answer)], [503, 'SERVICE-UNAVAILABLE']);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
}

/**
 * Lets PostgreSQL find no space for the file that a connection writes if it is not there, as after a change of the
 * catalogue: it then refuses each connection.
 */
async function refuseConnections(disk: SmallDisk): Promise<void> {
  const files = (await readdir(disk.dir, { recursive: true })).filter((file) => file.endsWith('pg_internal.init'));
  for (const file of files) await rm(join(disk.dir, file), { force: true });
  await disk.fill();
}

/** What the failed requests would leave; an upload that was given up may remain until it is swept. */
async function visibleRows(db: Db): Promise<unknown> {
  const { rows } = await db.query(
    `select (select count(*) from imports where state <> 'receiving') as imports,
       (select count(*) from users where user_name ~ '^[bc]\\d') as users`,
  );
  return rows[0];
}

async function rowsReceived(db: Db): Promise<boolean> {
  const { rowCount } = await db.query(`select from imports where state = 'receiving'`);
  return rowCount === 1;
}
