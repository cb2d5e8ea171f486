/**
 * A database that users are read from, whichever driver speaks to it.
 *
 * Guarantee: every query runs in a transaction that cannot write, and has a time limit.
 */
import { type Fields, UsageError } from '../../sources/source.ts';
import { PullError } from '../system.ts';

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
  return { url, dialect };
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
