/**
 * A PostgreSQL that allows fewer connections than the processes want: everything still works, only slower. While it
 * allows none, requests are answered 503 in bounded time, and everything continues by itself afterwards.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { REFUSED_MS } from '../../src/platform/db/pool.ts';
import { type Answer, errorId } from '../support/answers.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { assertEachOnce } from '../support/imports/outcome.ts';
import { warnings } from '../support/processes/launch.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const USERS = 200;
/** An API and a worker open up to 39, with a queue on PostgreSQL up to 74; one or four of them all the time, to listen. */
const SOME = 7;
const ENOUGH = 50;
const REFUSED = '53300';
const MOST_GROUPS = 40;
/** One after the other; the import goes through the same queue, so this does not depend on the machine. */
const MOST_SINGLES = 50;

onEachBackend('a PostgreSQL with few connections', async (t, backend) => {
  const database = await testDatabase(t);
  const role = await limitedRole(database);
  const service = await startService(t, {
    backend,
    workers: 0,
    env: { RESCUE_AFTER_MS: '1000', JOB_LOCK_MS: '2000', LOGIN_DELAY_MS: '0' },
    database: { url: role.url, pool: database.pool },
    onStopped: role.drop,
  });
  const worker = await service.startWorker();
  const { orgId, domain } = await service.newOrg();
  await service.imported(bulk(orgId, people('ann', 1)));
  const login = () => service.login(`ann0@${domain}`, 'secret');
  const single = (name: string) =>
    service.call('POST', '/management/v1/users/human/_import', people(name, 1)[0]?.user, { orgId });
  async function endsSoon(importId: string): Promise<void> {
    for (let n = 0; await isRunning(service, importId); n++) {
      assert.ok(n < MOST_SINGLES, `the import is not written after ${n} single imports`);
      await must(single(`s${importId}-${n}-`));
    }
    assert.equal((await service.waitForEnd(importId)).state, 'IMPORT_STATE_SUCCEEDED');
    await assertEachOnce(service, importId, { users: USERS, mails: USERS });
  }

  await t.test('imports, single imports, logins and status work with some', async () => {
    await role.limit(SOME);
    await endSessions(database);
    const { importId } = (await must(service.importBody(bulk(orgId, unverified('a', USERS))))).body;
    const status = () => service.call('GET', `/admin/v1/imports/${importId}`);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => [login(), single(`b${i}`), status()]).flat());
    assert.deepEqual([...new Set(answers.map(({ status: code }) => code))].sort(), [200, 201]);
    await endsSoon(importId);
    assert.ok((await sessions(database)) <= SOME);
  });

  await t.test('with none, requests are 503 soon, and everything continues afterwards', async () => {
    // A worker that is stopped keeps its connections, which may be all of them.
    await role.limit(ENOUGH);
    worker.kill('SIGSTOP');
    const { importId } = (await must(service.importBody(bulk(orgId, unverified('c', USERS))))).body;
    await role.limit(0);
    await endSessions(database);
    worker.kill('SIGCONT');
    const start = performance.now();
    for (const answer of await Promise.all([login(), single('d'), service.importBody(bulk(orgId, people('e', 1)))]))
      assertUnavailable(answer);
    const ms = performance.now() - start;
    assert.ok(ms >= REFUSED_MS - 100, `${ms} ms`);
    assert.equal((await service.call('GET', '/readyz')).status, 503);
    for (const one of service.processes) {
      const lines = await waitFor(() => refusals(one.output()), { what: 'a line of the log that names 53300' });
      assert.ok(lines.length <= MOST_GROUPS, JSON.stringify(lines));
    }
    await role.limit(SOME);
    await endsSoon(importId);
    await must(single('d'));
    assert.equal((await login()).status, 201);
    await waitFor(() => listens(service), { what: 'the API to listen again' });
    await waitFor(async () => (await service.call('GET', '/readyz')).status === 200, { what: '/readyz' });
  });
});

/** The first line of each group of repeated ones. */
function refusals(output: string): unknown[] | undefined {
  const lines = warnings(output).filter((line) => JSON.stringify(line).includes(REFUSED) && line.repeats === undefined);
  return lines.length > 0 ? lines : undefined;
}

function assertUnavailable(answer: Answer): void {
  assert.deepEqual([answer.status, errorId(answer)], [503, 'SERVICE-UNAVAILABLE']);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
}

interface LimitedRole {
  /** Of the database, with this role. */
  url: string;
  limit(connections: number): Promise<void>;
  /** With the database. */
  drop(): Promise<void>;
}

/** A member of the role that owns the tables; no limit holds for a superuser. */
async function limitedRole({ url, pool, drop }: TestDatabase): Promise<LimitedRole> {
  const name = `few_${randomBytes(5).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await pool.query(`create role ${name} login password '${password}' in role ${new URL(url).username}`);

  const own = new URL(url);
  own.username = name;
  own.password = password;
  return {
    url: own.toString(),
    limit: (connections) => pool.query(`alter role ${name} connection limit ${connections}`).then(() => {}),
    async drop() {
      await pool.query(`drop owned by ${name}`);
      await pool.query(`drop role ${name}`);
      await drop();
    },
  };
}

async function isRunning({ pool }: Service, importId: string): Promise<boolean> {
  return (await pool.query(`select from imports where id = $1 and state = 'running'`, [importId])).rowCount === 1;
}

/** Waits until they have ended. */
async function endSessions({ pool }: TestDatabase): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and usename <> current_user`,
  );
}

async function sessions({ pool }: TestDatabase): Promise<number> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and usename <> current_user`,
  );
  return rowCount ?? 0;
}

async function listens({ pool }: Service): Promise<boolean> {
  const { rowCount } = await pool.query(`select from pg_stat_activity where datname = current_database()
    and application_name = 'muster-signal'`);
  return rowCount === 1;
}
