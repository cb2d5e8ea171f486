/**
 * The listening socket and its patience.
 *
 * Guarantee: `stop` lets every request in progress finish, for as long as it is allowed to; then it cuts the rest.
 * If we die here callers see a closed connection and know that they have no answer.
 */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** To send the head of a request. */
const HEADERS_MS = 30_000;
/** Longer than the 60 seconds after which usual proxies drop an idle connection, so that they never race with us. */
const KEEP_ALIVE_MS = 65_000;
const SWEEP_MS = 50;

export interface Listening {
  host: string;
  port: number;
  /** Takes no further connection, finishes what runs, and after `graceMs` cuts what still does. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts to listen.
 * @param address port 0 takes a free one
 * @throws Error EADDRINUSE
 */
export async function listen(handler: RequestListener, address: { host: string; port: number }): Promise<Listening> {
  const server = createServer(
    { keepAlive: true, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: HEADERS_MS },
    handler,
  );
  // An import may upload for hours; bodies of other requests have a limit of their own (json-body.ts).
  server.requestTimeout = 0;
  server.listen(address.port, address.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { host: address.host, port, stop: (graceMs) => stop(server, graceMs) };
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // A connection that was busy stays open for its caller's next request, which will not come to be answered.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const enough = new AbortController();
  sleep(graceMs, undefined, { signal: enough.signal }).then(
    () => server.closeAllConnections(),
    () => undefined, // all connections were closed in time
  );
  await closed;
  enough.abort();
  clearInterval(sweep);
}
