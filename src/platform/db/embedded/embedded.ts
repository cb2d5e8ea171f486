/**
 * The embedded PostgreSQL: a database server in the data folder, for installations that have no server.
 *
 * Guarantees: only one process has a data folder at a time; the server stops only when told to, not on a signal to our
 * process group; a server that dies is restarted on the same address.
 * On crash: the server stops seconds later. The next start takes over the folder, and PostgreSQL recovers what was
 * committed.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StartError } from '../../errors.ts';
import {
  type Account,
  type Cluster,
  ensureCluster,
  makeOwned,
  NAME,
  postgresAccount,
  postgresPrograms,
  prepareFolder,
  programPaths,
} from './cluster.ts';
import {
  freeSpace,
  isPostmasterOf,
  postmasterFile,
  type Supervised,
  settingsFor,
  startedAt,
  stopOrphan,
  supervise,
} from './server.ts';

export interface EmbeddedOptions {
  /** The cluster is `<dataDir>/postgres`. */
  dataDir: string;
  /** TCP port on 127.0.0.1; absent: any free port. */
  port?: number;
  /** Called with one line for each event of the server. */
  log?: (line: string) => void;
  /** PostgreSQL settings that override ours. */
  settings?: Record<string, string> | undefined;
  /** The server does not keep our process alive, and stops soon after it. */
  background?: boolean;
}

export interface EmbeddedPostgres {
  /** URL of the database `muster`, with its superuser. */
  url: string;
  /** Absent where the folder's path is too long for a Unix socket. */
  socketDir?: string | undefined;
  /** Process id of the postmaster; it changes when the server is restarted. */
  readonly pid: number;
  /** Fast shutdown; resolves when the process is gone and the folder is unlocked. */
  stop(): Promise<void>;
}

export type EmbeddedState =
  | { state: 'absent' | 'stopped' }
  /** Without a URL when this user may not read its password. */
  | { state: 'running'; url: string | undefined };

/** Generous because `create database` copies a template; a ready server answers everything else at once. */
const LIMITS = { connectionTimeoutMillis: 30_000, query_timeout: 60_000 };

const HELD = '.held';
/** lock-PID-START-RANDOM; a process id may be reused, but not together with its start time. */
const PATTERN = /^lock-(\d+)-(\w+)-[0-9a-f]{8}(\.held)?$/;

/**
 * Starts the server, and creates the cluster on the first start.
 * @throws StartError when the folder is in use, PostgreSQL's user cannot enter it, or the server does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const log = options.log ?? (() => {});
  const programs = await postgresPrograms();
  const account = await postgresAccount(join(dataDir, 'postgres'));
  await prepareFolder(dataDir, programPaths(programs), account);
  const lock = await lockFolder(dataDir);
  try {
    const sync = options.settings?.fsync !== 'off';
    const cluster = await ensureCluster(dataDir, { programs, account, sync });
    const orphan = await stopOrphan(cluster.dir);
    if (orphan) log(`stopped the PostgreSQL that an earlier run left behind (process ${orphan})`);
    const socketDir = await prepareSocketDir(dataDir, account);
    const how = {
      program: programs.postgres,
      clusterDir: cluster.dir,
      logFile: join(dataDir, 'postgres.log'),
      socketDir,
      settings: { ...settingsFor(memory(), await freeSpace(dataDir)), ...options.settings },
      account,
      background: options.background,
    };
    const server = await startServer(how, cluster, { port: options.port, log });
    return {
      url: urlOf(cluster, server.port, socketDir, NAME),
      socketDir,
      get pid() {
        return server.pid();
      },
      async stop() {
        await server.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Starts the server, and creates the database in a new cluster. */
async function startServer(
  how: Parameters<typeof supervise>[0],
  cluster: Cluster,
  { port, log }: { port: number | undefined; log: (line: string) => void },
): Promise<Supervised> {
  const server = await supervise(how, port, log);
  await ensureDatabase(urlOf(cluster, server.port, how.socketDir, 'postgres')).catch(async (error) => {
    await server.stop();
    throw error;
  });
  return server;
}

/** Bytes of memory that this process may use. */
function memory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** A new folder for the socket, unless its path is too long for sun_path (unix(7): 108 bytes with NUL, 104 on BSD). */
async function prepareSocketDir(dataDir: string, account: Account | undefined): Promise<string | undefined> {
  const dir = join(dataDir, 'run');
  const longest = process.platform === 'linux' ? 107 : 103;
  if (Buffer.byteLength(join(dir, '.s.PGSQL.65535')) > longest) return undefined;
  await rm(dir, { recursive: true, force: true });
  await makeOwned(dir, account);
  return dir;
}

/** Prefers the Unix socket, as it is cheaper than TCP. Both forms have the port: it is part of the socket's name. */
function urlOf(cluster: Cluster, port: number, socketDir: string | undefined, database: string): string {
  const base = `postgres://${NAME}:${cluster.password}@127.0.0.1:${port}/${database}`;
  return socketDir ? `${base}?host=${encodeURIComponent(socketDir)}` : base;
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, ...LIMITS });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [NAME]);
    if (rowCount === 0) await client.query(`create database ${NAME}`);
  } finally {
    await client.end();
  }
}

/** The state of the embedded PostgreSQL in a data folder, as another process sees it. Starts and stops nothing. */
export async function embeddedState(dataDir: string): Promise<EmbeddedState> {
  const clusterDir = join(resolve(dataDir), 'postgres');
  const isThere = await readFile(join(clusterDir, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) =>
    // The folder belongs to the user that the server runs as.
    error.code === 'EACCES' ? '?' : undefined,
  );
  if (isThere === undefined) return { state: 'absent' };
  const [pid, , , port] = await postmasterFile(clusterDir);
  if (!(Number(pid) > 1) || !(await isPostmasterOf(Number(pid), clusterDir))) return { state: 'stopped' };
  const password = await readFile(join(resolve(dataDir), 'postgres.password'), 'utf8').catch(() => undefined);
  const url = password && `postgres://${NAME}:${password.trim()}@127.0.0.1:${port}/${NAME}`;
  return { state: 'running', url };
}

export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Locks the folder for this process. Each process that wants the folder first creates a file named after itself and
 * then lists the files of the others.
 *
 * Guarantee: of two processes, the one that wrote later sees the other's file, so they can never both have the folder;
 * of several that start at once, the first by name gets it.
 * On crash: our file stays, and the next process removes it, because no living process has its name.
 * @throws StartError naming the process that holds it
 */
export async function lockFolder(dir: string): Promise<FolderLock> {
  const me = `lock-${process.pid}-${await startWord(process.pid)}-${randomBytes(4).toString('hex')}`;
  const release = async () => {
    await rm(join(dir, me + HELD), { force: true });
    await rm(join(dir, me), { force: true });
  };
  await writeFile(join(dir, me), '');
  try {
    await untilAlone(dir, me);
    await writeFile(join(dir, me + HELD), '');
  } catch (error) {
    await release();
    throw error;
  }
  return { release };
}

async function untilAlone(dir: string, me: string): Promise<void> {
  for (;;) {
    const others = (await living(dir)).filter((name) => name !== me);
    if (others.length === 0) return;
    const winner = others.find((name) => name.endsWith(HELD) || name < me);
    if (winner) {
      const pid = PATTERN.exec(winner)?.[1];
      throw new StartError(
        `The data folder ${dir} is in use by process ${pid}: stop that one, or set DATA_DIR to another.`,
      );
    }
    // The others started later and will give up, or have the folder and are about to create their `.held` file.
    await sleep(5);
  }
}

/** The files of living processes; files of dead ones are removed. */
async function living(dir: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(dir)) {
    const [, pid, start] = PATTERN.exec(name) ?? [];
    if (!pid) continue;
    if ((await startWord(Number(pid))) === start) found.push(name);
    else await rm(join(dir, name), { force: true });
  }
  return found;
}

async function startWord(pid: number): Promise<string> {
  return ((await startedAt(pid)) ?? 'gone').replace(/\W+/g, '_');
}
