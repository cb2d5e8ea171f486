/**
 * A database that users are read from, whichever driver speaks to it, and the pages of a query.
 *
 * Guarantee: every query runs in a transaction that cannot write, and has a time limit.
 */
import { UsageError } from '../read/records.ts';
import type { Fields } from '../source.ts';
import { PullError, type RecordPage } from './system.ts';

export interface Database {
  readonly dialect: 'postgres' | 'mysql';
  /** Host, port and name, without user and password. */
  readonly identity: string;
  /** @param values of the placeholders: `$1` or `?` @throws PullError */
  query(text: string, values: readonly unknown[]): Promise<Fields[]>;
  close(): Promise<void>;
}

/** Longer than a page of a large table takes without an index. */
export const QUERY_MS = 120_000;

export const CONNECT_MS = 20_000;

/** Where a database is, from its URL. */
export interface Address {
  url: URL;
  dialect: Database['dialect'];
}

const SCHEMES: Readonly<Record<string, Database['dialect']>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mysql',
};

/** @throws UsageError when it is no URL of a database, or contains a password */
export function addressOf(text: string): Address {
  const url = URL.parse(text);
  const dialect = SCHEMES[url?.protocol ?? ''];
  // The messages do not repeat the text, as it may contain a password.
  if (url === null || dialect === undefined)
    throw new UsageError('--database must be a URL such as postgres://user@host:5432/name or mysql://user@host/name.');
  if (url.password !== '' || url.searchParams.has('password')) {
    throw new UsageError(
      'The URL of --database contains a password, which every user of this machine can read. Leave it out: set PULL_PASSWORD, or type it when asked.',
    );
  }
  // An option that is not understood may have asked for TLS.
  const [unknown] = dialect === 'mysql' ? [...url.searchParams].filter(([name, value]) => !isSsl(name, value)) : [];
  if (unknown) throw new UsageError('The URL of --database can have the option ssl=true or ssl=false, and no other.');
  return { url, dialect };
}

function isSsl(name: string, value: string): boolean {
  return name === 'ssl' && /^(?:true|false)$/.test(value);
}

export function identityOf({ url, dialect }: Address): string {
  return `${dialect}://${url.host}${url.pathname}`;
}

/**
 * Loads a driver, which the package of the command line does not bring along.
 * @throws PullError that names the package to install
 */
export async function driverOf<T>(name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new PullError(
      'failed',
      `This system needs the package ${name}, which is not installed.`,
      `Install it beside muster: npm install --global ${name}`,
    );
  }
}

export interface Keyset {
  /** A statement that returns rows, with `:since` where the time of the last changes belongs. */
  query: string;
  /** Name of the unique column. */
  key: string;
  size: number;
}

/** What `:since` is in a run that reads all users. */
const ALWAYS = '1970-01-01T00:00:00.000Z';

/**
 * Pages of any query, in the order of a column that is unique: a page begins after the last value of the one before, so
 * that reading goes on after an interruption, and rows that come in between move no others.
 * @throws PullError
 */
export async function* keysetPages(
  database: Database,
  { query, key, size }: Keyset,
  { cursor, since }: { cursor: string | undefined; since: string | undefined },
): AsyncGenerator<RecordPage> {
  let after: unknown = cursor === undefined ? undefined : JSON.parse(cursor);
  for (;;) {
    // One row more than the page, to see whether its key repeats the last one of the page.
    const { text, values } = statementOf(database, { query, key, size: size + 1 }, after, since ?? ALWAYS);
    const rows = await database.query(text, values);
    requireUniqueKeys(rows, key);
    const page = rows.slice(0, size);
    after = page.at(-1)?.[key] ?? after;
    if (page.length > 0) yield { records: page, cursor: JSON.stringify(after) };
    if (rows.length <= size) return;
  }
}

/** Not `::since`, which would be a cast of PostgreSQL. */
const SINCE = /(?<!:):since\b/g;

function statementOf({ dialect }: Database, { query, key, size }: Keyset, after: unknown, since: string) {
  const values: unknown[] = [];
  const place = (value: unknown) => {
    values.push(value);
    return dialect === 'postgres' ? `$${values.length}` : '?';
  };
  const column = quoted(dialect, key);
  const time = dialect === 'postgres' ? since : since.replace('T', ' ').replace('Z', '');
  const rows = query
    .trim()
    .replace(/;$/, '')
    .replaceAll(SINCE, () => place(time));
  const where = after === undefined ? '' : `where ${column} > ${place(after)}`;
  return { text: `select * from (${rows}\n) as pulled ${where} order by ${column} limit ${size}`, values };
}

function quoted(dialect: Database['dialect'], name: string): string {
  const mark = dialect === 'postgres' ? '"' : '`';
  return mark + name.replaceAll(mark, mark + mark) + mark;
}

/** A row without a key, or with the same one as another, would be read twice or never. */
function requireUniqueKeys(rows: readonly Fields[], key: string): void {
  if (rows[0] !== undefined && !(key in rows[0]))
    throw new UsageError(`The query returns no column "${key}": see --key.`);
  for (const [i, row] of rows.entries()) {
    const value = row[key];
    if (value === null) throw new PullError('failed', `A row has no value in the column "${key}" of --key.`);
    if (i > 0 && rows[i - 1]?.[key] === value) {
      throw new PullError(
        'failed',
        `Several rows have the same value in the column "${key}" of --key.`,
        'The query must return one row for each user; collect further rows with an aggregate, such as json_agg.',
      );
    }
  }
}

export function asksForChanges(query: string): boolean {
  return query.search(SINCE) >= 0;
}
