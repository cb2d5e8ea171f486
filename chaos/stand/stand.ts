/**
 * Everything that a run works with: the stores, the mail server, the receiver of webhooks, and Muster's processes, each
 * with its own lines to the servers.
 *
 * Guarantee: closing the scope ends everything, frozen processes too. The stores stay up over the rounds.
 *
 * On crash: everything ends with this process; the folder of the run stays.
 */
import { join } from 'node:path';
import type { Scope } from '../../bench/scope.ts';
import { throughPort } from '../../bench/testbed/proxy.ts';
import type { EmbeddedPostgres } from '../../src/db/embedded/embedded.ts';
import { openPool, type Pool } from '../../src/db/pool.ts';
import { openQueues, type Queues } from '../../src/queue/queues.ts';
import { startChild } from '../../test/support/processes/child.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import type { Backend } from '../plan/plan.ts';
import { type Line, openLine } from './line.ts';
import { newSettings } from './settings.ts';
import { openSlot, type Slot } from './slot.ts';
import { type ChaosSmtp, openSmtp } from './smtp.ts';
import { type ChaosRedis, openPostgres, openRedis } from './stores.ts';
import { openTroubles, type Troubles } from './troubles.ts';

export interface Stand {
  backend: Backend;
  dir: string;
  postgres: EmbeddedPostgres;
  redis?: ChaosRedis;
  smtp: ChaosSmtp;
  receiver: Receiver;
  apis: Slot[];
  workers: Slot[];
  troubles: Troubles;
  token: string;
  /** For the checker: past all lines. */
  pool: Pool;
  queues: Pick<Queues, 'depth'>;
}

const APIS = 2;
const WORKERS = 3;
const LEAST_POOL = 4;

/** Starts everything. @param dir an empty folder */
export async function openStand(scope: Scope, backend: Backend, dir: string): Promise<Stand> {
  const stopping = { stop: (one: { stop(): Promise<unknown> }) => one.stop() };
  const postgres = await scope.start(() => openPostgres(dir), stopping.stop);
  const redis = backend === 'redis' ? await scope.start(() => openRedis(join(dir, 'redis')), stopping.stop) : undefined;
  const workers: Slot[] = [];
  const senderOf = (port: number) => workers.find(({ lines }) => lines.smtp?.isFrom(port));
  const smtp = await scope.start(
    () =>
      openSmtp({
        nameOf: (port) => senderOf(port)?.name ?? '',
        drop: (port) => senderOf(port)?.lines.smtp?.cutFrom(port),
      }),
    stopping.stop,
  );
  const receiver = await scope.start(startReceiver, stopping.stop);
  const settings = newSettings();

  const line = (target: () => number) => scope.start(() => openLine(target), stopping.stop);
  const linesOf = async (sends: boolean) => ({
    postgres: await line(() => Number(new URL(postgres.url).port)),
    ...(redis ? { redis: await line(() => redis.port) } : {}),
    ...(sends ? { smtp: await line(() => smtp.port) } : {}),
  });
  const slot = async (name: string, file: string, sends: boolean): Promise<Slot> => {
    const front: Line | undefined = sends ? undefined : await line(() => opened.port);
    const lines = { ...(await linesOf(sends)), front };
    const env = { ...settings, ...environment(postgres.url, lines) };
    const opened = openSlot(name, lines, () => startChild(file, env));
    return scope.start(async () => opened, endSlot);
  };

  const apis: Slot[] = [];
  for (let n = 0; n < APIS; n++) apis.push(await slot(`api-${n}`, 'src/api.ts', false));
  for (let n = 0; n < WORKERS; n++) workers.push(await slot(`worker-${n}`, 'workers/all-in-one.ts', true));
  await Promise.all([...apis, ...workers].map((one) => one.start()));

  const pool = await scope.start(
    async () => openPool(postgres.url, { max: LEAST_POOL, name: 'chaos' }),
    (opened) => opened.end(),
  );
  const ownLine = redis ? await line(() => redis.port) : undefined;
  const { QUEUE_PREFIX } = settings;
  const queues = await scope.start(
    async () =>
      openQueues({
        DATABASE_URL: postgres.url,
        QUEUE_PREFIX,
        QUEUE_BATCHING: 'on',
        ...(ownLine ? { REDIS_URL: `redis://127.0.0.1:${ownLine.port}` } : {}),
      }),
    (opened) => opened.close(),
  );
  const token = settings.BOOTSTRAP_TOKEN;
  return {
    backend,
    dir,
    postgres,
    redis,
    smtp,
    receiver,
    apis,
    workers,
    troubles: openTroubles(),
    token,
    pool,
    queues,
  };
}

/** The addresses of the servers through the lines of a process. */
function environment(databaseUrl: string, lines: { postgres: Line; redis?: Line; smtp?: Line }) {
  return {
    DATABASE_URL: throughPort(databaseUrl, lines.postgres.port),
    ...(lines.redis ? { REDIS_URL: `redis://127.0.0.1:${lines.redis.port}` } : {}),
    ...(lines.smtp ? { SMTP_URL: `smtp://127.0.0.1:${lines.smtp.port}` } : {}),
  };
}

async function endSlot(slot: Slot): Promise<void> {
  slot.signal('SIGKILL');
  await slot.ended();
}
