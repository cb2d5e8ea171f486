/**
 * Everything that a run works with: the stores, the mail server, the receiver of webhooks, and Muster's processes.
 *
 * Guarantee: closing the scope ends everything. The stores stay up over the rounds.
 *
 * On crash: everything ends with this process; the folder of the run stays.
 */
import { join } from 'node:path';
import type { Scope } from '../../bench/scope.ts';
import { openQueues, type Queues } from '../../src/imports/queue/queues.ts';
import type { EmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import type { SmallDisk } from '../../test/support/stores/small-disk.ts';
import type { Backend } from '../plan/plan.ts';
import { openLine } from './line.ts';
import { openProcesses, type Processes } from './processes.ts';
import { newSettings, type Settings } from './settings.ts';
import { type ChaosSmtp, openSmtp } from './smtp.ts';
import { type ChaosRedis, openPostgres, openRedis, openRole } from './stores.ts';
import { openTroubles, type Troubles } from './troubles.ts';

export interface Stand extends Processes {
  backend: Backend;
  dir: string;
  /** Where the stores' files are; absent where this process may not mount it. */
  disk?: SmallDisk;
  postgres: EmbeddedPostgres;
  redis?: ChaosRedis | undefined;
  smtp: ChaosSmtp;
  receiver: Receiver;
  troubles: Troubles;
  token: string;
  /** For the checker: past all lines. */
  pool: Pool;
  queues: Pick<Queues, 'depth'>;
}

const CONNECTIONS = 4;

/** Starts everything but Muster's processes. @param folder an empty folder, with the disk for the stores in it */
export async function openStand(
  scope: Scope,
  backend: Backend,
  { dir, disk }: Pick<Stand, 'dir' | 'disk'>,
): Promise<Stand> {
  const end = (opened: { stop(): Promise<unknown> }) => opened.stop();
  const files = disk?.dir ?? dir;
  const postgres = await scope.start(() => openPostgres(files), end);
  const redis = backend === 'redis' ? await scope.start(() => openRedis(join(files, 'redis')), end) : undefined;
  // Mails arrive only when the processes run.
  const sender = (port: number) => processes.workers.find(({ lines }) => lines.smtp?.isFrom(port));
  const smtp = await scope.start(
    () =>
      openSmtp({
        nameOf: (port) => sender(port)?.name ?? '',
        drop: (port) => sender(port)?.lines.smtp?.cutFrom(port),
      }),
    end,
  );
  const settings = newSettings();
  const servers = {
    databaseUrl: await openRole(postgres.url),
    postgres: () => Number(new URL(postgres.url).port),
    ...(redis ? { redis: () => redis.port } : {}),
    smtp: () => smtp.port,
  };
  const processes = await openProcesses(scope, servers, { ...settings, DATA_DIR: dir });
  const rest = {
    ...{ backend, dir, ...(disk ? { disk } : {}), postgres, redis, smtp },
    receiver: await scope.start(startReceiver, end),
    troubles: openTroubles(),
    token: settings.BOOTSTRAP_TOKEN,
    pool: await scope.start(
      async () => openPool(postgres.url, { max: CONNECTIONS, name: 'chaos' }),
      (pool) => pool.end(),
    ),
    queues: await watchQueues(scope, postgres.url, settings, servers.redis),
  };
  return Object.assign(processes, rest);
}

/** The queues as the checker sees them. */
async function watchQueues(
  scope: Scope,
  databaseUrl: string,
  { QUEUE_PREFIX }: Settings,
  redis?: () => number,
): Promise<Queues> {
  const line = redis
    ? await scope.start(
        () => openLine(redis),
        (opened) => opened.stop(),
      )
    : undefined;
  const address = line ? { REDIS_URL: `redis://127.0.0.1:${line.port}` } : {};
  return scope.start(
    async () => openQueues({ DATABASE_URL: databaseUrl, QUEUE_PREFIX, QUEUE_BATCHING: 'on', ...address }),
    (opened) => opened.close(),
  );
}
