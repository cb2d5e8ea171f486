/**
 * A TCP proxy between workers and both stores, in a process of its own, that adds about a millisecond to each
 * round-trip, as stores on other machines do. It ends with its scope, or when we die.
 */
import type { NetConnectOpts } from 'node:net';
import { startHelper } from './helper.ts';
import type { ProxyOrder, ProxyReady } from './proxy-process.ts';
import type { Scope } from './scope.ts';

const FILE = new URL('./proxy-process.ts', import.meta.url);

export interface StoreUrls {
  databaseUrl: string;
  redisUrl: string;
}

export interface Proxy extends StoreUrls {
  pid: number;
}

/** Answers where both stores are reached through it. */
export async function startProxy(scope: Scope, { databaseUrl, redisUrl }: StoreUrls, delayMs: number): Promise<Proxy> {
  const order: ProxyOrder = { delayMs, targets: { postgres: postgresAddress(databaseUrl), redis: { path: redisUrl } } };
  const { child, ready } = await startHelper<ProxyReady>(scope, FILE, order);
  return {
    pid: child.pid as number,
    databaseUrl: throughPort(databaseUrl, ready.postgres as number),
    redisUrl: `redis://127.0.0.1:${ready.redis}`,
  };
}

/** Where the server of a URL of src/db/embedded.ts listens: its unix socket, if it has one. */
export function postgresAddress(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder ? { path: `${folder}/.s.PGSQL.${port}` } : { host: hostname, port: Number(port) };
}

/** The same database at another port of this machine, over TCP. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.searchParams.delete('host');
  return through.href;
}
