import type { Logger } from 'pino';
import { openQueues } from '../src/imports/queue/queues.ts';
import { registerKeys, requireKeys } from '../src/operate/known-keys.ts';
import { openTracing } from '../src/operate/open-tracing.ts';
import { openHasher } from '../src/passwords/hasher.ts';
import { openPool } from '../src/platform/db/pool.ts';
import { openSecrets } from '../src/platform/encryption.ts';
import { openCondition, type Running, type StoresConfig } from '../src/platform/lifecycle.ts';
import { waitForSchema } from '../src/start/schema.ts';
import { startConverter } from './converter.ts';
import { startDispatcher } from './dispatcher.ts';
import { startImportWorker } from './import-users.ts';
import { openLook } from './loop.ts';
import { startMailer } from './mailer.ts';
import { startMaintenance } from './maintenance.ts';
import { startPresence } from './presence.ts';
import { startRescuer, startUndoer } from './rescuer.ts';
import { startWebhookSender } from './webhooks.ts';
/** A worker: performs the roles in WORKER_ROLES. */

/** @throws StartError when it cannot listen on HEALTH_PORT */
export async function startWorker(config: StoresConfig, logger: Logger, stopping: AbortSignal): Promise<Running> {
  const condition = openCondition();
  const pool = openPool(config.DATABASE_URL, {
    max: 10,
    name: 'muster-worker',
    statementMs: config.DATABASE_TIMEOUT_MS,
    isShared: config.DATABASE_DIRECT_URL !== undefined,
  });
  const tracing = await openTracing({ service: 'muster-worker', config, db: pool, logger });
  const secrets = openSecrets(config.ENCRYPTION_KEY, config.DECRYPTION_KEYS);
  const hasher = openHasher({ threads: config.HASH_THREADS, logger });
  const queues = openQueues({ ...config, condition, onError: (err) => logger.warn({ err }, 'queue') });
  const deps = { pool, config, secrets, hasher, queues, logger, condition, look: openLook(pool) };
  // Loaded only on demand: most workers do not listen, and start faster without it.
  const health = config.HEALTH_PORT > 0 ? await import('./health.ts') : undefined;
  const keys = { check: () => requireKeys(pool, secrets) };
  const server = await health?.startHealthServer(config, { ...deps, keys }, logger);
  await waitForSchema({ ...deps, withQueue: queues.kind === 'postgres', stopping });
  await registerKeys(pool, secrets);

  const has = (role: (typeof config.WORKER_ROLES)[number]) => config.WORKER_ROLES.includes(role);
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
  const jobs = () => ({ imports: importer?.inProgress() ?? 0, mails: mailer?.inProgress() ?? 0 });
  const presence = startPresence(deps, jobs);
  return {
    async stop() {
      presence.stopping();
      await Promise.all(parts.map((part) => part.stop()));
      await presence.stop();
      await server?.stop();
      await hasher.close();
      await queues.close();
      await Promise.all([pool.end(), tracing?.stop()]);
    },
  };
}
