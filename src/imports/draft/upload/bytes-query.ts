/**
 * A statement whose last parameter is a megabyte or more: its bytes go to the socket as they are.
 *
 * `pg` copies every parameter twice into buffers that it allocates and grows for each statement. For large ones that
 * costs more time than PostgreSQL takes to store them: after some megabytes V8 collects all garbage of the process.
 *
 * Duty of the caller: do not change the bytes before the promise settles.
 */
import pg from 'pg';
import { isShared, type Pool, transaction } from '../../../db/pool.ts';

export interface BytesQuery {
  text: string;
  /** The parameters before the last one. */
  values: readonly (string | number)[];
  /** The last parameter, a bytea. */
  bytes: Buffer;
}

/** Runs the statement. @returns how many rows it wrote */
export async function queryBytes(pool: Pool, query: BytesQuery): Promise<number> {
  if (isShared(pool)) return transaction(pool, (db) => run(db, query));
  const client = await pool.connect();
  try {
    const written = await run(client, query);
    client.release();
    return written;
  } catch (error) {
    client.release(error as Error); // as `pool.query` does
    throw error;
  }
}

function run(client: pg.PoolClient, query: BytesQuery): Promise<number> {
  return new Promise((resolve, reject) => {
    client.query(
      new Sent(query, (error, result) => {
        if (error) reject(error);
        else resolve(result?.rowCount ?? 0);
      }),
    );
  });
}

type Callback = (error: Error | undefined, result?: pg.QueryResult) => void;

class Sent extends pg.Query {
  readonly #query: BytesQuery;

  constructor(query: BytesQuery, callback: Callback) {
    // Without `values`, `pg` would send a simple query, which has no parameters.
    super({ text: query.text, values: [...query.values, query.bytes], callback } as pg.QueryConfig);
    this.#query = query;
    const { submit } = this;
    this.submit = (connection) => submit.call(this, this.#binding(connection));
  }

  /** The connection, which sends our message Bind instead of its own. The other messages around it are those of `pg`. */
  #binding(connection: pg.Connection): pg.Connection {
    const bind = () => {
      const { head, tail } = bindMessage(this.#query);
      for (const part of [head, this.#query.bytes, tail]) connection.stream.write(part);
    };
    return Object.create(connection, { bind: { value: bind } });
  }
}

const TEXT = 0;
const BINARY = 1;

/** The message around the bytes (PostgreSQL, "Message Formats", Bind): unnamed portal and statement, results as text. */
function bindMessage({ values, bytes }: BytesQuery): { head: Buffer; tail: Buffer } {
  const count = values.length + 1;
  const parts = [Buffer.from([0, 0]), int16(count), ...values.map(() => int16(TEXT)), int16(BINARY), int16(count)];
  for (const value of values) {
    const text = Buffer.from(String(value));
    parts.push(int32(text.length), text);
  }
  parts.push(int32(bytes.length));
  const tail = Buffer.concat([int16(1), int16(TEXT)]);
  const before = Buffer.concat(parts);
  const length = 4 + before.length + bytes.length + tail.length;
  return { head: Buffer.concat([Buffer.from('B'), int32(length), before]), tail };
}

function int16(n: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(n);
  return bytes;
}

function int32(n: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
}
