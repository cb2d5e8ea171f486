/**
 * Caches the test server's files for all runs, because initdb and the migrations take longer than most tests.
 *
 * Guarantee: entries of the cache are complete, because they are renamed into place after the server that made them has
 * ended. The name depends on everything that the content depends on.
 *
 * On crash: the unfinished entry stays in the folder for temporary files.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/test-clusters');
const MIGRATIONS = join(ROOT, 'src/platform/db/migrations');

const MEMORY = '/dev/shm';
const ENOUGH = 4 * 2 ** 30;

/** The folder for a test server's files: in memory, if there is plenty. Removes the files of killed runs. */
export async function newFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return folderIn(bavail * bsize > ENOUGH ? MEMORY : tmpdir());
}

/** The name of a new folder. */
export async function folderIn(base: string): Promise<string> {
  for (const name of await readdir(base)) {
    const [, pid] = /^muster-test-(\d+)-/.exec(name) ?? [];
    if (pid && !isAlive(Number(pid))) await removeLeft(join(base, name));
  }
  return join(base, `muster-test-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** A killed run may leave a folder as a mounted disk; see small-disk.ts. */
async function removeLeft(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    // Another run may do the same at this moment, and a server of the killed run may still use it: then it stays.
    const unmounted = await run('umount', [path]).catch(() => undefined);
    if (unmounted) await rm(path, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Puts the data folder of a stopped server at `dataDir`.
 * @param make starts a server in that folder, fills it and stops it
 */
export async function copyCluster(dataDir: string, make: (dataDir: string) => Promise<void>): Promise<void> {
  const cached = join(CACHE, await nameOf());
  if (!(await stat(cached).catch(() => undefined))) {
    await make(dataDir);
    await keep(dataDir, cached);
  }
  // Keeps owners and modes: the files belong to PostgreSQL's user.
  else await copy(cached, dataDir);
}

async function keep(dataDir: string, cached: string): Promise<void> {
  const draft = `${cached}.${process.pid}`;
  await mkdir(CACHE, { recursive: true });
  await copy(dataDir, draft);
  // If two runs make the same entry at once, one comes too late.
  await rename(draft, cached).catch(() => rm(draft, { recursive: true, force: true }));
  for (const other of await readdir(CACHE)) {
    if (!cached.startsWith(join(CACHE, other))) await rm(join(CACHE, other), { recursive: true, force: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  await run('cp', ['-a', from, to]);
  await chmod(to, 0o711);
}

/** Changes with the schema, with the versions of PostgreSQL and BullMQ, and with the code that creates a cluster. */
async function nameOf(): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform} ${process.getuid?.()}`);
  const migrations = (await readdir(MIGRATIONS)).sort().map((file) => join(MIGRATIONS, file));
  const makers = [
    'package-lock.json',
    'src/platform/db/embedded/cluster.ts',
    'src/imports/queue/schema.ts',
    'test/support/stores/postgres.ts',
  ];
  for (const file of [...migrations, ...makers.map((file) => join(ROOT, file))]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}
