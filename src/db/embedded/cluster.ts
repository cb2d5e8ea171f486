/**
 * The files of the embedded database: made once, by initdb.
 *
 * Guarantee: `<dataDir>/postgres` exists only when it is complete and its password is known; initdb works in
 * `postgres.new`, which is renamed at the end. If we die here the next start throws `postgres.new` away.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../../start-error.ts';
import type { Account, Programs } from './access.ts';

/** The database's superuser, and the name of the database. */
export const NAME = 'muster';

/** Environment of PostgreSQL's programs: nothing of ours, and no locale of the machine. */
export const ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface Cluster {
  dir: string;
  password: string;
}

/**
 * Opens the cluster of a data folder, making it on the first start.
 * @param sync whether initdb waits for the disk
 * @throws StartError when the password file of an existing cluster is gone
 */
export async function ensureCluster(
  dataDir: string,
  programs: Programs,
  account: Account | undefined,
  sync: boolean,
): Promise<Cluster> {
  const dir = join(dataDir, 'postgres');
  const passwordFile = join(dataDir, 'postgres.password');
  if (!(await stat(dir).catch(() => undefined))) await createCluster(dir, passwordFile, programs, account, sync);
  const password = await readFile(passwordFile, 'utf8').catch(() => {
    throw new StartError(
      `${passwordFile} cannot be read, and the database in ${dir} opens with nothing else: put it back.`,
    );
  });
  return { dir, password: password.trim() };
}

async function createCluster(
  dir: string,
  passwordFile: string,
  programs: Programs,
  account: Account | undefined,
  sync: boolean,
): Promise<void> {
  const staging = `${dir}.new`;
  const password = randomBytes(24).toString('base64url');
  await rm(staging, { recursive: true, force: true });
  await makeOwned(staging, account);
  // initdb reads it as the other user, who may not read ours.
  await writeFile(join(staging, 'password'), password, { mode: 0o600 });
  if (account) await chown(join(staging, 'password'), account.uid, account.gid);
  await initdb(programs.initdb, staging, account, sync);
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flush: true });
  await rename(join(staging, 'data'), dir);
  await rm(staging, { recursive: true });
}

/** An empty folder that only the user of PostgreSQL gets into. */
export async function makeOwned(path: string, account: Account | undefined): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (account) await chown(path, account.uid, account.gid);
}

function initdb(program: string, staging: string, account: Account | undefined, sync: boolean): Promise<void> {
  const args = [
    `--pgdata=${join(staging, 'data')}`,
    `--username=${NAME}`,
    `--pwfile=${join(staging, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // PostgreSQL's own tables of Unicode: the same on every machine, and lower('Ž') works whatever LANG says.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(sync ? [] : ['--no-sync']),
  ];
  const identity = account ? { uid: account.uid, gid: account.gid } : {};
  return new Promise<void>((resolve, reject) => {
    execFile(program, args, { ...identity, cwd: '/', env: ENV }, (error, _stdout, stderr) => {
      if (!error) resolve();
      else reject(initdbError(program, stderr || error.message));
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
