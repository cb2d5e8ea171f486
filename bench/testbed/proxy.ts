/**
 * A TCP proxy before both stores, in a process of its own, that makes each round-trip take some milliseconds longer, as it
 * does to stores on other machines: answers arrive later. It ends with its scope, or when we die.
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

/** Answers where both stores are reached through it. */
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

/** Where the server of a URL of src/db/embedded/embedded.ts listens: its unix socket, if it has one. */
export function postgresAddress(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder ? { path: `${folder}/.s.PGSQL.${port}` } : { host: hostname, port: Number(port) };
}

/** Where the server of a REDIS_URL listens: a path is that of its unix socket. */
function redisAddress(url: string): NetConnectOpts {
  if (url.startsWith('/')) return { path: url };
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** The same database at another port of this machine, over TCP. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.searchParams.delete('host');
  return through.href;
}
