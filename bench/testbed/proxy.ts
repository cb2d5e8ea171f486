/**
 * A TCP proxy in front of both stores, in a separate process. It delays responses, so that each round trip takes some
 * milliseconds longer, as to stores on other machines. It ends with its scope.
 *
 * On crash: it ends too (helper.ts).
 */
import type { NetConnectOpts } from 'node:net';
import type { Scope } from '../scope.ts';
import { startHelper } from './helper.ts';
import type { ProxyOrder, ProxyReady } from './proxy-process.ts';

const FILE = new URL('./proxy-process.ts', import.meta.url);

export interface StoreUrls {
  databaseUrl: string;
  redisUrl: string;
}

export interface Proxy extends StoreUrls {
  pid: number;
}

/** Returns the addresses of both stores through the proxy. */
export async function startProxy(scope: Scope, { databaseUrl, redisUrl }: StoreUrls, delayMs: number): Promise<Proxy> {
  const targets = { postgres: postgresAddress(databaseUrl), redis: redisAddress(redisUrl) };
  const order: ProxyOrder = { delayMs, targets };
  const { child, ready } = await startHelper<ProxyReady>(scope, FILE, order);
  return {
    pid: child.pid as number,
    databaseUrl: throughPort(databaseUrl, ready.postgres as number),
    redisUrl: `redis://127.0.0.1:${ready.redis}`,
  };
}

/** Where the server of a URL from src/platform/db/embedded/embedded.ts listens: on its unix socket, if it has one. */
export function postgresAddress(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder ? { path: `${folder}/.s.PGSQL.${port}` } : { host: hostname, port: Number(port) };
}

/** Where the server of a REDIS_URL listens: a path is a unix socket. */
function redisAddress(url: string): NetConnectOpts {
  if (url.startsWith('/')) return { path: url };
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** The same database on another port of this machine, over TCP. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.searchParams.delete('host');
  return through.href;
}
