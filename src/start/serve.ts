/**
 * The API process: HTTP in front of the database and the queues.
 *
 * Guarantee: it answers only after the database is migrated and contains an instance. Stopping finishes requests in
 * progress. On crash: callers can repeat their requests, as no state lives in this process only.
 */
import type { Logger } from 'pino';
import { signInMeans } from '../imports/entries/sign-in-means.ts';
import { warmUp } from '../imports/intake/warm-up.ts';
import { openQueues } from '../imports/queue/queues.ts';
import { openImportSignal } from '../imports/status/watch.ts';
import { registerKeys } from '../operate/known-keys.ts';
import { openApiMetrics } from '../operate/metrics.ts';
import { openTracing } from '../operate/open-tracing.ts';
import { openHasher } from '../passwords/hasher.ts';
import { POOL_SIZES } from '../platform/db/connections.ts';
import { openPool } from '../platform/db/pool.ts';
import { openReads } from '../platform/db/replica.ts';
import { openSecrets } from '../platform/encryption.ts';
import { listenForMetrics, type Metrics } from '../platform/http/metrics.ts';
import { headersOfAll } from '../platform/http/origins.ts';
import { type Listening, listen } from '../platform/http/server.ts';
import { directUrl, listenError, type Running, type StoresConfig } from '../platform/lifecycle.ts';
import { openProvider } from '../signin/oauth/provider.ts';
import { buildApp } from './app.ts';
import { prepareInstance } from './database.ts';

/** A login that would wait longer for a thread is answered 503: its caller would hardly wait for it. */
const LONGEST_WAIT_MS = 5000;
/** The part of STOP_AFTER_MS that remains for answering and closing after it: at most this, and at most half of it. */
const CLOSING_MS = 2500;

/** @throws StartError when the database cannot be used, or it is not possible to listen on the address */
export async function startApi(config: StoresConfig, logger: Logger): Promise<Running> {
  await prepareInstance(config, logger);
  const { DATABASE_URL: url, DATABASE_TIMEOUT_MS: statementMs, HASH_THREADS: threads, bcryptCost } = config;
  const isShared = config.DATABASE_DIRECT_URL !== undefined;
  const settings = signInMeans(config);
  const pool = openPool(url, { max: POOL_SIZES.api, name: 'muster-api', settings, statementMs, isShared });
  const tracing = await openTracing({ service: 'muster-api', config, db: pool, logger });
  const uploadPool = openPool(url, {
    max: POOL_SIZES.upload,
    name: 'muster-api',
    label: 'upload',
    settings,
    statementMs,
    isShared,
  });
  const reads = openReads(pool, config.DATABASE_REPLICA_URL, { isShared, settings });
  const hasher = openHasher({ threads, bcryptCost, longestWaitMs: LONGEST_WAIT_MS, logger });
  const queues = openQueues({ ...config, onError: (err) => logger.warn({ err }, 'queue') });
  const signal = openImportSignal(directUrl(config));
  const secrets = openSecrets(config.ENCRYPTION_KEY, config.DECRYPTION_KEYS);
  await registerKeys(pool, secrets);
  const oauth = await openProvider({ pool, config, secrets, logger });
  const metrics = openApiMetrics({ pool, queues }, config.METRICS_TOKEN);
  const deps = { pool, uploadPool, reads, config, secrets, oauth, hasher, queues, signal, metrics, logger };
  const app = buildApp({ ...deps, traceRequests: tracing?.requests });
  if (config.WARM_UP) await warmUp({ pool, secrets, config });
  const { HOST: host, PORT: port, METRICS_PORT } = config;
  const server = await listen(app, { host, port, logger, headers: headersOfAll(config) }).catch((error) => {
    throw listenError({ host, port, setting: 'PORT' }, error);
  });
  const scraped = METRICS_PORT > 0 ? await openMetricsPort(metrics, logger, host, METRICS_PORT) : undefined;
  return {
    ready: { url: config.baseUrl, port: server.port },
    async stop() {
      await server.stop(Math.max(config.STOP_AFTER_MS / 2, config.STOP_AFTER_MS - CLOSING_MS));
      await scraped?.stop(0);
      await Promise.all([signal.close(), hasher.close(), queues.close()]);
      await Promise.all([pool.end(), uploadPool.end(), reads.close(), tracing?.stop()]);
    },
  };
}

function openMetricsPort(metrics: Metrics, logger: Logger, host: string, port: number): Promise<Listening> {
  return listenForMetrics(metrics, logger, { host, port }).catch((error) => {
    throw listenError({ host, port, setting: 'METRICS_PORT' }, error);
  });
}
