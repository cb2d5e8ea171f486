import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import pg from 'pg';
import {
  type EmbeddedOptions,
  lockFolder,
  startEmbeddedPostgres,
} from '../../../../src/platform/db/embedded/embedded.ts';
import { startedAt } from '../../../../src/platform/db/embedded/server.ts';
import { waitFor } from '../../../support/wait.ts';

const base = join(tmpdir(), `muster-embedded-${randomBytes(4).toString('hex')}`);
const dataDir = join(base, 'data');
const isRoot = process.getuid?.() === 0;

after(() => rm(base, { recursive: true, force: true }));

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 20_000, query_timeout: 20_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function withPostgres(run: (url: string, pid: number) => Promise<void>, options: Partial<EmbeddedOptions> = {}) {
  const postgres = await startEmbeddedPostgres({ dataDir, ...options });
  try {
    await run(postgres.url, postgres.pid);
  } finally {
    await postgres.stop();
  }
  assert.equal(await startedAt(postgres.pid), undefined, 'the postmaster has ended');
}

/** Starts the database in another process, which leads its own process group. */
async function startParent(): Promise<{ parent: ChildProcess; url: string; pid: number }> {
  const parent = fork(new URL('../embedded-parent.ts', import.meta.url), [dataDir], { detached: true, execArgv: [] });
  const ended = once(parent, 'exit').then(([code]) => assert.fail(`the parent ended with exit code ${code}`));
  const [{ url, pid }] = await Promise.race([once(parent, 'message'), ended]);
  return { parent, url, pid };
}

async function kill(parent: ChildProcess): Promise<void> {
  const gone = once(parent, 'exit');
  parent.kill('SIGKILL');
  await gone;
}

test('the first start creates a UTF8 cluster whatever the locale; the second start keeps it', async () => {
  const { LANG, LC_ALL } = process.env;
  Object.assign(process.env, { LANG: 'C', LC_ALL: 'POSIX' });
  await withPostgres(async (url) => {
    const rows = await query(
      url,
      `select lower('Ž') as l, current_setting('server_encoding') as e, current_database() as d`,
    );
    assert.deepEqual(rows, [{ l: 'ž', e: 'UTF8', d: 'muster' }]);
    await query(url, 'create table kept as select 42 as n');
  }).finally(() => Object.assign(process.env, { LANG: LANG ?? '', LC_ALL: LC_ALL ?? '' }));
  await withPostgres(async (url) => assert.deepEqual(await query(url, 'select n from kept'), [{ n: 42 }]));
});

test('it accepts connections over the unix socket and over TCP on the loopback address only, with the password', async () => {
  await withPostgres(async (url) => {
    assert.match(url, /\?host=%2F/);
    const overTcp = url.replace(/\?.*/, '');
    assert.deepEqual(await query(overTcp, 'select host(inet_server_addr()) as a'), [{ a: '127.0.0.1' }]);
    assert.deepEqual(await query(url, 'select inet_server_addr() as a'), [{ a: null }]);
    await assert.rejects(query(overTcp.replace(/:[^:@]+@/, ':wrong@'), 'select 1'), { code: '28P01' });
    const [row] = await query(
      url,
      `select current_setting('listen_addresses') as l, current_setting('synchronous_commit') as s`,
    );
    assert.deepEqual(row, { l: '127.0.0.1', s: 'on' });
  });
});

test('a folder whose path is too long for a unix socket is served over TCP', async () => {
  const deep = join(base, 'x'.repeat(100));
  await withPostgres(async (url) => assert.doesNotMatch(url, /host=/), { dataDir: deep, settings: { fsync: 'off' } });
});

test('only the owner can read the password and the log', async () => {
  for (const file of ['postgres.password', 'postgres.log']) {
    assert.equal((await stat(join(dataDir, file))).mode & 0o777, 0o600, file);
  }
  const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim();
  await withPostgres(async (_url, pid) => {
    assert.ok(!execFileSync('ps', ['-p', `${pid}`, '-o', 'args=']).includes(password), 'not among the arguments');
  });
});

test('a folder in use is rejected in one sentence that names the process', async () => {
  await withPostgres(async (url) => {
    await assert.rejects(startEmbeddedPostgres({ dataDir }), {
      message: `The data folder ${dataDir} is in use by process ${process.pid}: stop that one, or set DATA_DIR to another.`,
    });
    assert.deepEqual(await query(url, 'select 1 as still_there'), [{ still_there: 1 }]);
  });
});

test('of many concurrent starts, one gets the folder; a dead holder or a reused process id does not keep it', async () => {
  const dir = join(base, 'locks');
  await mkdir(dir, { recursive: true });
  const stale = [`lock-${process.pid}-1-aaaaaaaa`, 'lock-4194303-1-aaaaaaaa', 'lock-4194303-1-aaaaaaaa.held'];
  for (let round = 0; round < 20; round++) {
    for (const name of stale) await writeFile(join(dir, name), '');
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(dir)));
    const taken = outcomes.filter((o) => o.status === 'fulfilled');
    assert.equal(taken.length, 1, JSON.stringify(outcomes));
    await taken[0]?.value.release();
    assert.deepEqual(await readdir(dir), []);
  }
});

test('a folder that PostgreSQL may not enter is named in the message, and nothing is written', async () => {
  const barred = join(base, 'barred');
  await mkdir(join(barred, 'inside'), { recursive: true });
  await chmod(barred, isRoot ? 0o700 : 0o600);
  const error = await startEmbeddedPostgres({ dataDir: join(barred, 'inside', 'a', 'b') }).then(
    () => assert.fail('it started'),
    (e: Error) => e,
  );
  await chmod(barred, 0o755);
  assert.match(error.message, new RegExp(`may not enter ${barred}: run "chmod a\\+x ${barred}"`));
  assert.equal(error.message.split('\n').length, 1);
  assert.deepEqual(await readdir(join(barred, 'inside')), []);
});

test("a signal to its parent's process group does not reach it", async () => {
  const { parent, url, pid } = await startParent();
  const told = once(parent, 'message');
  process.kill(-(parent.pid as number), 'SIGINT');
  assert.deepEqual(await told, ['got SIGINT', undefined]);
  assert.deepEqual(await query(url, 'select 1 as n'), [{ n: 1 }]);
  await kill(parent);
  await waitFor(async () => !(await startedAt(pid)), {
    what: 'the end of a server without its parent',
  });
});

test('after SIGKILL of the parent, the next start stops the orphan and has all committed data', async () => {
  const { parent, url, pid } = await startParent();
  await query(url, 'insert into kept values (43)');
  await kill(parent);
  await withPostgres(async (again, newPid) => {
    assert.equal(await startedAt(pid), undefined, 'the orphan has ended');
    assert.notEqual(newPid, pid);
    assert.deepEqual(await query(again, 'select n from kept order by n'), [{ n: 42 }, { n: 43 }]);
  });
});

test('after SIGKILL of all processes, it recovers even if another program has its process id', async () => {
  const { parent, url, pid } = await startParent();
  await query(url, 'insert into kept values (44)');
  await kill(parent);
  process.kill(pid, 'SIGKILL');
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^\d+/, String(process.ppid)));
  await withPostgres(async (again) => {
    assert.deepEqual(await query(again, 'select count(*)::int as n from kept'), [{ n: 3 }]);
  });
});

test('a server that dies is restarted on the same address', async (t) => {
  const lines: string[] = [];
  const postgres = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
  // Also when the test fails: nothing else would stop the server.
  t.after(() => postgres.stop());
  const { pid } = postgres;
  process.kill(pid, 'SIGKILL');
  const answer = await waitFor(() => query(postgres.url, 'select count(*)::int as n from kept'), {
    what: 'an answer',
  });
  assert.deepEqual(answer, [{ n: 3 }]);
  // The new server answers a moment before its keeper has noticed that it is ready.
  await waitFor(() => postgres.pid !== pid, { what: 'the new process' });
  assert.ok(lines.includes('PostgreSQL ended unexpectedly; starting it again'));
});

test('an interrupted set-up is discarded', async () => {
  const cut = join(base, 'cut');
  await mkdir(join(cut, 'postgres.new', 'data'), { recursive: true });
  await writeFile(join(cut, 'postgres.new', 'data', 'PG_VERSION'), '18\n');
  await withPostgres(async (url) => assert.equal((await query(url, 'select 1')).length, 1), {
    dataDir: cut,
    settings: { fsync: 'off' },
  });
  assert.ok(!(await readdir(cut)).includes('postgres.new'));
});

test('a failed start says why, and leaves nothing that keeps its process alive', async () => {
  const child = fork(new URL('../embedded-failing.ts', import.meta.url), [join(base, 'failing')], { execArgv: [] });
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  const [message] = await once(child, 'message');
  assert.match(message, /does not start \(.*no_such_setting/);
  assert.deepEqual(await ended, [0, null]);
});
