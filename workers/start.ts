/** A worker: performs the roles in WORKER_ROLES. */
import type { Logger } from 'pino';
import { signInMeans } from '../src/imports/entries/sign-in-means.ts';
import { openQueues } from '../src/imports/queue/queues.ts';
import { registerKeys, requireKeys } from '../src/operate/known-keys.ts';
import { openTracing } from '../src/operate/open-tracing.ts';
import { openHasher } from '../src/passwords/hasher.ts';
import type { Config } from '../src/platform/config.ts';
import { POOL_SIZES } from '../src/platform/db/connections.ts';
import { openPool } from '../src/platform/db/pool.ts';
import { openSecrets } from '../src/platform/encryption.ts';
import { openCondition, type Running, type StoresConfig } from '../src/platform/lifecycle.ts';
import { waitForSchema } from '../src/start/schema.ts';
import { startConverter } from './converter.ts';
import { startDispatcher } from './dispatcher.ts';
import { startImportWorker } from './import-users.ts';
import { openWorkPoller } from './loop.ts';
import { startMailer } from './mailer.ts';
import { startMaintenance } from './maintenance.ts';
import { type JobCounts, startPresence } from './presence.ts';
import { startRescuer, startUndoer } from './rescuer.ts';
import { warmUp } from './warm-up.ts';
import { startWebhookSender } from './webhooks.ts';

/**
 * Starts a worker when the database is ready for it.
 * @throws StartError when it cannot listen on HEALTH_PORT, or is stopped before the database is ready
 */
export async function startWorker(config: StoresConfig, logger: Logger, stopping: AbortSignal): Promise<Running> {
  const condition = openCondition();
  const pool = openPool(config.DATABASE_URL, {
    max: POOL_SIZES.worker,
    name: 'muster-worker',
    settings: signInMeans(config),
    statementMs: config.DATABASE_TIMEOUT_MS,
    isShared: config.DATABASE_DIRECT_URL !== undefined,
  });
  const tracing = await openTracing({ service: 'muster-worker', config, db: pool, logger });
  const secrets = openSecrets(config.ENCRYPTION_KEY, config.DECRYPTION_KEYS);
  const hasher = openHasher({ threads: config.HASH_THREADS, bcryptCost: config.bcryptCost, logger });
  const queues = openQueues({ ...config, condition, onError: (err) => logger.warn({ err }, 'queue') });
  const deps = { pool, config, secrets, hasher, queues, logger, condition, poller: openWorkPoller(pool) };
  // Loaded only on demand: most workers do not listen, and start faster without it.
  const health = config.HEALTH_PORT > 0 ? await import('./health.ts') : undefined;
  const keys = { check: () => requireKeys(pool, secrets) };
  const server = await health?.startHealthServer(config, { ...deps, keys }, logger);
  await waitForSchema({ ...deps, withQueue: queues.kind === 'postgres', stopping });
  await registerKeys(pool, secrets);

  if (config.WARM_UP && config.WORKER_ROLES.includes('import')) await warmUp(pool, config, logger);
  const roles = startRoles(deps);
  const presence = startPresence(deps, roles.jobs);
  return {
    async stop() {
      presence.stopping();
      await roles.stop();
      await presence.stop();
      await server?.stop();
      await hasher.close();
      await queues.close();
      await Promise.all([pool.end(), tracing?.stop()]);
    },
  };
}

type RoleDeps = Parameters<typeof startImportWorker>[0] &
  Parameters<typeof startDispatcher>[0] &
  Parameters<typeof startRescuer>[0] &
  Parameters<typeof startMaintenance>[0] &
  Parameters<typeof startMailer>[0] &
  Parameters<typeof startConverter>[0] &
  Parameters<typeof startWebhookSender>[0];

/** Starts the roles of this worker. `jobs` counts the jobs in progress. */
function startRoles(deps: RoleDeps): { jobs: JobCounts; stop(): Promise<unknown> } {
  const has = (role: Config['WORKER_ROLES'][number]) => deps.config.WORKER_ROLES.includes(role);
  const importer = has('import') ? startImportWorker(deps) : undefined;
  const mailer = has('mail') ? startMailer(deps) : undefined;
  const parts = [
    ...(importer ? [importer] : []),
    ...(has('dispatch') ? [startDispatcher(deps)] : []),
    ...(has('rescue') ? [startRescuer(deps), startUndoer(deps)] : []),
    ...(has('maintenance') ? [startMaintenance(deps)] : []),
    ...(mailer ? [mailer] : []),
    ...(has('convert') ? [startConverter(deps)] : []),
    ...(has('webhooks') ? [startWebhookSender(deps)] : []),
  ];
  return {
    jobs: () => ({ imports: importer?.inProgress() ?? 0, mails: mailer?.inProgress() ?? 0 }),
    stop: () => Promise.all(parts.map((part) => part.stop())),
  };
}
