/** MySQL and MariaDB, through `mysql2`. Dates stay as the server writes them, in UTC. */
import { isUtf8 } from 'node:buffer';
import type { Fields } from '../source.ts';
import { type Address, CONNECT_MS, type Database, driverOf, identityOf, QUERY_MS } from './sql.ts';
import { PullError, type Trouble } from './system.ts';

/** @throws PullError */
export async function openMysql(
  address: Address,
  { password, signal }: { password: string | undefined; signal: AbortSignal },
): Promise<Database> {
  const { createConnection } = await driverOf('mysql2', import('mysql2/promise'));
  const { url } = address;
  const connection = await createConnection({
    host: url.hostname,
    port: Number(url.port || 3306),
    user: decodeURIComponent(url.username),
    ...(password ? { password } : {}),
    database: decodeURIComponent(url.pathname.slice(1)),
    ...(url.searchParams.get('ssl') === 'true' ? { ssl: {} } : {}),
    charset: 'utf8mb4',
    timezone: 'Z',
    connectTimeout: CONNECT_MS,
    dateStrings: true,
    supportBigNumbers: true,
    multipleStatements: false,
  }).catch(raised);
  await connection.query("set session time_zone = '+00:00'").catch(raised);
  await connection.query('set session transaction read only').catch(raised);
  // A query that waits would hold up Ctrl-C.
  const cut = () => connection.destroy();
  signal.addEventListener('abort', cut);
  return {
    dialect: 'mysql',
    identity: identityOf(address),
    async query(sql, values) {
      signal.throwIfAborted();
      const [rows] = await connection.query({ sql, values: [...values], timeout: QUERY_MS }).catch(raised);
      return (rows as Fields[]).map(withTexts);
    },
    async close() {
      signal.removeEventListener('abort', cut);
      await connection.end().catch(cut);
    },
  };
}

/** Columns of bytes hold text in many schemas; other bytes are written as hexadecimal digits. */
function withTexts(row: Fields): Fields {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? value.toString(isUtf8(value) ? 'utf8' : 'hex') : value,
    ]),
  );
}

const DENIED = /^ER_(?:ACCESS_DENIED|DBACCESS_DENIED|TABLEACCESS_DENIED|COLUMNACCESS_DENIED)/;
const AWAY = /^(?:E[A-Z]+|PROTOCOL_.*|ER_(?:SERVER_SHUTDOWN|CON_COUNT_ERROR|NEW_ABORTING_CONNECTION))$/;

function raised(error: Error & { code?: string }): never {
  const code = error.code ?? '';
  const trouble: Trouble = DENIED.test(code)
    ? 'denied'
    : AWAY.test(code) && !code.startsWith('ER_P')
      ? 'unreachable'
      : 'failed';
  throw new PullError(trouble, `MySQL: ${error.message || code}.`);
}
