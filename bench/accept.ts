/**
 * `accept`: users per second from sending a bulk import to its 202, by which time all of them are durable.
 *
 * Ceiling: one bare COPY of the very rows that the import wrote, encoded beforehand, by the same statement into an
 * identical table with the same indexes on the same server. Both in turns, the best of three; no worker is running.
 */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Pool } from '../src/db/pool.ts';
import { COPY_SQL } from '../src/imports/copy.ts';
import { COLUMNS } from '../src/imports/items.ts';
import { type Context, perSecond, type Result, rounded } from './bench.ts';
import { importBody } from './load.ts';
import { type Service, startService, startStores } from './stand.ts';

const DEFAULT_USERS = 100_000;
const ROUNDS = 3;
/** Pieces of a COPY; larger ones are no faster. */
const PIECE_BYTES = 256 * 1024;

export async function accept({ scope, users = DEFAULT_USERS, say }: Context): Promise<Result[]> {
  const stores = await startStores(scope, { redis: false });
  const service = await startService(scope, stores, 0);
  const body = [...importBody(users, service.orgId)];
  const bytes = body.reduce((sum, chunk) => sum + chunk.length, 0);
  const importMs: number[] = [];
  const copyMs: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const upload = await timedUpload(service, body);
    const rows = await rowsOf(stores.pool, upload.importId);
    const copy = await timedCopy(stores.pool, rows, users);
    say(
      `accept: round ${round} of ${ROUNDS}, ${perSecond(users, upload.ms)} users/s, bare COPY ${perSecond(users, copy)}`,
    );
    importMs.push(upload.ms);
    copyMs.push(copy);
  }
  const value = perSecond(users, Math.min(...importMs));
  const ceiling = perSecond(users, Math.min(...copyMs));
  const extras = {
    users,
    rounds: importMs.map((ms, i) => ({
      usersPerSecond: perSecond(users, ms),
      copy: perSecond(users, copyMs[i] as number),
    })),
    bytesPerUser: Math.round(bytes / users),
  };
  const notes = [
    `${users} users of ${extras.bytesPerUser} bytes, from request to 202, best of ${ROUNDS}`,
    'ceiling: one bare COPY of the same rows into the same table',
  ];
  return [{ name: 'accept', value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras }];
}

async function timedUpload({ client }: Service, body: Buffer[]): Promise<{ importId: string; ms: number }> {
  const start = performance.now();
  const { importId } = await client.upload(body);
  return { importId: String(importId), ms: performance.now() - start };
}

/** The rows of an import as COPY takes them. */
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
 * Milliseconds of one COPY into a table like import_items, in a schema of its own, so that the statement is the very
 * same. The table is made by an earlier transaction, as rows of a table made by their own need no write-ahead log.
 * @throws Error when other than `users` rows arrived
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
