/**
 * The files of the embedded database, which initdb creates once.
 *
 * Guarantee: `<dataDir>/postgres` exists only when it is complete and its password is stored; initdb works in
 * `postgres.new`, and the finished cluster is renamed at the end.
 * On crash: the next start deletes `postgres.new`.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../../start-error.ts';
import type { Account, Programs } from './access.ts';

/** The name of the superuser, and of the database. */
export const NAME = 'muster';

/** Environment of PostgreSQL's programs: without our variables and without the machine's locale. */
export const ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface Cluster {
  dir: string;
  password: string;
}

/**
 * Opens the cluster of a data folder, and creates it on the first start.
 * @param sync whether initdb waits until its files are on disk
 * @throws StartError when the password file of an existing cluster cannot be read
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
      `The password file ${passwordFile} cannot be read, and the database in ${dir} cannot be opened without it: restore the file.`,
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
  // initdb reads it as the other user, which may not read our file.
  await writeFile(join(staging, 'password'), password, { mode: 0o600 });
  if (account) await chown(join(staging, 'password'), account.uid, account.gid);
  await initdb(programs.initdb, staging, account, sync);
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flush: true });
  await rename(join(staging, 'data'), dir);
  await rm(staging, { recursive: true });
}

/** Creates an empty folder that only the user that PostgreSQL runs as can enter. */
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
