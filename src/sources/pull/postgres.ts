/** PostgreSQL, through `pg`. Dates and bytes stay as the server writes them, as in its exports. */
import type { ClientBase, ClientConfig, QueryConfig } from 'pg';
import type { Fields } from '../source.ts';
import { exactJson } from '../values.ts';
import { type Address, CONNECT_MS, type Database, driverOf, identityOf, QUERY_MS } from './sql.ts';
import { PullError, type Trouble } from './system.ts';

/** bytea, date, time, timestamp, timestamptz, timetz, and int8, which may exceed a JavaScript number. */
const AS_TEXT = new Set([17, 20, 1082, 1083, 1114, 1184, 1266]);

/** json and jsonb, whose numbers keep their digits; and lists of them. */
const JSON_TYPES = new Set([114, 3802]);
const JSON_ARRAYS = new Set([199, 3807]);
const TEXT_ARRAY = 1009;

export interface PostgresOptions {
  password: string | undefined;
  /** `search_path`; absent: that of the user. */
  schema?: string | undefined;
  signal: AbortSignal;
}

/** @throws PullError */
export async function openPostgres(address: Address, options: PostgresOptions): Promise<Database> {
  const { default: pg } = await driverOf('pg', import('pg'));
  const config: ClientConfig = {
    connectionString: withPassword(address.url, options.password),
    application_name: 'muster pull',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    types: {
      getTypeParser: ((oid: number, format: 'text') => {
        if (AS_TEXT.has(oid)) return String;
        if (JSON_TYPES.has(oid)) return exactJson;
        if (!JSON_ARRAYS.has(oid)) return pg.types.getTypeParser(oid, format);
        const textsOf = pg.types.getTypeParser(TEXT_ARRAY as never, format) as (text: string) => (string | null)[];
        return (text: string) => textsOf(text).map((one) => (one === null ? null : exactJson(one)));
      }) as typeof pg.types.getTypeParser,
    },
  };
  const client = new pg.Client(config);
  // A lost connection is reported by the query that waits, or by the next one.
  client.on('error', () => {});
  // A query that waits would hold up Ctrl-C, and a refused connection the end of the process.
  const cut = () => (client as unknown as WithStream).connection.stream.destroy();
  await client.connect().catch((error: Error) => {
    cut();
    throw asPullError(error);
  });
  options.signal.addEventListener('abort', cut);
  return {
    dialect: 'postgres',
    identity: identityOf(address),
    query: (text, values) =>
      readOnly(client, text, values, options).catch((error: Error) => {
        throw asPullError(error);
      }),
    async close() {
      options.signal.removeEventListener('abort', cut);
      await client.end().catch(() => {}); // already gone
    },
  };
}

/** `pg` ignores a password beside a URL. */
function withPassword(url: URL, password: string | undefined): string {
  const full = new URL(url);
  if (password) full.password = encodeURIComponent(password);
  return full.href;
}

interface WithStream {
  connection: { stream: { destroy(): void } };
}

/** The forms that `pg` reads, and all digits; the old system's database or role may have others. */
const AS_READ = `set local DateStyle = 'ISO, MDY'; set local IntervalStyle = 'postgres'; set local TimeZone = 'UTC';
  set local bytea_output = 'hex'; set local extra_float_digits = 1; set local client_encoding = 'UTF8';
  set local standard_conforming_strings = on; set local array_nulls = on`;

/** Each page has a transaction of its own, so that the old system's dead rows can be removed meanwhile. */
async function readOnly(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  { schema, signal }: PostgresOptions,
): Promise<Fields[]> {
  signal.throwIfAborted();
  await client.query('begin transaction isolation level repeatable read read only');
  await client.query(`set local statement_timeout = ${QUERY_MS}; ${AS_READ}`);
  if (schema !== undefined) await client.query("select set_config('search_path', $1, true)", [schema]);
  try {
    // One statement only, as a second one could end the transaction.
    const query: QueryConfig & { queryMode: 'extended' } = { text, values: [...values], queryMode: 'extended' };
    const { rows } = await client.query<Fields>(query);
    return rows;
  } finally {
    await client.query('rollback').catch(() => {}); // the error of the query itself says more
  }
}

const DENIED = new Set(['28000', '28P01', '42501']);
/** https://www.postgresql.org/docs/current/errcodes-appendix.html: class 08, and a server that starts or stops. */
const AWAY = /^(?:08|57P)/;

function asPullError(error: Error & { code?: string }): Error {
  const code = error.code ?? '';
  const trouble: Trouble = DENIED.has(code) ? 'denied' : isAway(code, error.message) ? 'unreachable' : 'failed';
  return Object.assign(new PullError(trouble, `PostgreSQL: ${error.message || code}.`), { code });
}

function isAway(code: string, message: string): boolean {
  return AWAY.test(code) || /^E[A-Z]+$/.test(code) || /terminated|timeout/i.test(message);
}
