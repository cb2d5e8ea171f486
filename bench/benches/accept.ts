/**
 * `accept`: users per second from sending a bulk import to its 202, when all of them are durable.
 *
 * Ceiling: one bare COPY of the rows that the import wrote, encoded beforehand, with the same statement into an
 * identical table with the same indexes on the same server. The two alternate, and the median of five counts; no worker
 * is running.
 */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { COLUMNS } from '../../src/imports/entries/item.ts';
import { COPY_SQL } from '../../src/imports/intake/copy.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { type Context, percentile, perSecond, type Result, rounded } from '../bench.ts';
import { hasProc } from '../machine/cpu.ts';
import { formatUse, limitOf, readUse, type Use, useBetween } from '../machine/machine.ts';
import { importBody } from '../testbed/load.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 200_000;
const ROUNDS = 5;
/** Pieces of a COPY; larger ones are no faster. */
const PIECE_BYTES = 256 * 1024;

interface Round {
  usersPerSecond: number;
  copy: number;
  ratio: number;
  /** Which processes used the cores during the upload; undefined where that cannot be read. */
  use?: Use;
}

export async function accept({ scope, users = DEFAULT_USERS, say }: Context): Promise<Result[]> {
  const stores = await startStores(scope, { redis: false });
  const service = await startService(scope, stores, 0);
  const body = [...importBody(users, service.orgId)];
  const bytes = body.reduce((sum, chunk) => sum + chunk.length, 0);
  const rounds: Round[] = [];
  for (let n = 1; n <= ROUNDS; n++) {
    const round = await measure(service, stores, body, users);
    say(`accept: round ${n} of ${ROUNDS}, ${round.usersPerSecond} users/s, bare COPY ${round.copy}`);
    rounds.push(round);
  }
  return [resultOf(rounds, users, Math.round(bytes / users))];
}

async function measure(service: Service, stores: Stores, body: Buffer[], users: number): Promise<Round> {
  const { importId, ms, use } = await timedUpload(service, stores, body);
  const copyMs = await timedCopy(stores.pool, await rowsOf(stores.pool, importId), users);
  const [usersPerSecond, copy] = [perSecond(users, ms), perSecond(users, copyMs)];
  return { usersPerSecond, copy, ratio: rounded(usersPerSecond / copy, 3), ...(use ? { use } : {}) };
}

/** The round with the median ratio: the speed of a shared machine changes between rounds. */
function resultOf(rounds: Round[], users: number, bytesPerUser: number): Result {
  const ratios = rounds.map(({ ratio }) => ratio);
  const ratio = percentile(ratios, 0.5);
  const median = rounds.find((round) => round.ratio === ratio) as Round;
  const notes = [
    `${users} users of ${bytesPerUser} bytes, from request to 202, median of ${ROUNDS} by ratio (${Math.min(...ratios)} to ${Math.max(...ratios)})`,
    'ceiling: one bare COPY of the same rows into the same table',
    ...(median.use
      ? [`of ${median.use.cores} cores: ${formatUse(median.use)}; limit: ${limitOf(median.use, { api: 1 })}`]
      : []),
  ];
  const { usersPerSecond: value, copy: ceiling } = median;
  return { name: 'accept', value, unit: 'users/s', ceiling, ratio, notes, extras: { users, bytesPerUser, rounds } };
}

interface Upload {
  importId: string;
  ms: number;
  /** Which processes used the cores meanwhile; undefined where that cannot be read. */
  use?: Use;
}

async function timedUpload(service: Service, stores: Stores, body: Buffer[]): Promise<Upload> {
  const roles = { ...service.roles(), ...stores.roles() };
  const before = hasProc() ? readUse(roles) : undefined;
  const start = performance.now();
  const { importId } = await service.client.upload(body);
  const ms = performance.now() - start;
  return { importId: String(importId), ms, ...(before ? { use: useBetween(before, readUse(roles)) } : {}) };
}

/** The rows of an import in the format of COPY. */
async function rowsOf(pool: Pool, importId: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const keep = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const rows = `select ${COLUMNS.join(', ')} from import_items where import_id = ${BigInt(importId)} order by ordinal`;
  await withClient(pool, (client) => pipeline(client.query(copyTo(`copy (${rows}) to stdout`)), keep));
  return Buffer.concat(chunks);
}

/**
 * Milliseconds of one COPY into a table like import_items, in its own schema, so that the statement is identical. An
 * earlier transaction creates the table: rows written by the transaction that creates their table need no write-ahead
 * log.
 * @throws Error when the number of rows is not `users`
 */
async function timedCopy(pool: Pool, rows: Buffer, users: number): Promise<number> {
  return withClient(pool, async (client) => {
    await client.query('create schema bare; create table bare.import_items (like public.import_items including all)');
    await client.query('set search_path = bare');
    const start = performance.now();
    await pipeline(pieces(rows), client.query(copyFrom(COPY_SQL)));
    const ms = performance.now() - start;
    const { rows: counted } = await client.query('select count(*)::int as n from import_items');
    if (counted[0].n !== users) throw new Error(`The bare COPY wrote ${counted[0].n} of ${users} rows.`);
    await client.query('drop schema bare cascade; reset search_path');
    return ms;
  });
}

function* pieces(rows: Buffer): Generator<Buffer> {
  for (let at = 0; at < rows.length; at += PIECE_BYTES) yield rows.subarray(at, at + PIECE_BYTES);
}

async function withClient<T>(pool: Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}
