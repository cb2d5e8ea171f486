/** The API process, `npm run api`: HTTP in front of the database and the queues; any number of them may run. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { openPool } from './db/pool.ts';
import { openImportSignal } from './imports/signal.ts';
import { type Running, runEntry, type StoresConfig } from './lifecycle.ts';
import { openHasher } from './passwords/hasher.ts';
import { openQueues } from './queue/queues.ts';
import { openSecrets } from './secrets.ts';

runEntry('api', start);

async function start(config: StoresConfig, logger: Logger): Promise<Running> {
  const pool = openPool(config.DATABASE_URL, { max: 20, name: 'muster-api' });
  const hasher = openHasher({ threads: config.HASH_THREADS });
  const queues = openQueues({ ...config, onError: (err) => logger.warn({ err }, 'queue') });
  const signal = openImportSignal(config.DATABASE_URL);
  const secrets = openSecrets(config.ENCRYPTION_KEY);
  const server = await listen(createServer(buildApp({ pool, config, secrets, hasher, queues, signal, logger })), config);
  const { port } = server.address() as AddressInfo;
  return {
    ready: { url: config.baseUrl, port },
    async stop() {
      await close(server);
      await signal.close();
      await hasher.close();
      await queues.close();
      await pool.end();
    },
  };
}

async function listen(server: Server, config: StoresConfig): Promise<Server> {
  // An upload of 2 GiB may take longer than any limit on a whole request; silence is bounded below.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  server.keepAliveTimeout = 65_000;
  server.timeout = 120_000;
  server.listen(config.PORT, config.HOST);
  await once(server, 'listening');
  return server;
}

/** Streams of progress and slow uploads would never end by themselves; both can be begun again elsewhere. */
const CUT_AFTER_MS = 5000;

/** Takes no new connection and lets the requests in progress be answered. */
async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), CUT_AFTER_MS);
  await closed;
  clearTimeout(cut);
}
