/**
 * The role `rescue`: ends imports at their deadline, restarts stuck ones, and removes interrupted uploads. See
 * src/imports/maintenance/rescue.ts. Any number of processes may run it.
 */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import type { Config } from '../src/config.ts';
import type { Pool } from '../src/db/pool.ts';
import { rescueRound } from '../src/imports/maintenance/rescue.ts';
import { publish } from '../src/observations.ts';
import type { Queues } from '../src/queue/queues.ts';
import { withTimeout } from '../src/timeout.ts';
import { type Look, openLook } from './look.ts';
import { type Pause, startLoop } from './loop.ts';

const MAX_INTERVAL_MS = 500;
/** The longest wait for a queue that does not answer, so that deadlines are not delayed. */
const DEPTH_MS = 2000;

export interface RescuerDeps {
  pool: Pool;
  config: Config;
  queues: Pick<Queues, 'depth'>;
  logger: Logger;
  condition?: Condition;
  look?: Look;
}

export function startRescuer(deps: RescuerDeps): { stop(): Promise<unknown> } {
  const { pool, config, queues, logger, condition, look = openLook(pool) } = deps;
  const settings = {
    rescueAfterMs: config.RESCUE_AFTER_MS,
    abandonedAfterMs: config.ABANDONED_AFTER_MS,
    queue: {
      depth: () => withTimeout(queues.depth('imports'), DEPTH_MS, 'the queue'),
      mostHeld: Math.min(config.WORKER_CONCURRENCY, config.DISPATCH_WINDOW),
    },
  };
  const interval = Math.min(MAX_INTERVAL_MS, config.RESCUE_AFTER_MS);
  async function rescue(): Promise<Pause> {
    const { redispatched, swept } = await rescueRound(pool, settings);
    publish('rescues', redispatched.length);
    publish('uploadsRemoved', swept);
    if (redispatched.length > 0) logger.warn({ imports: redispatched }, 'stuck imports are dispatched again');
    if (swept > 0) logger.info({ swept }, 'interrupted uploads are removed');
    return look.until('rescue', { afterMs: interval });
  }
  return startLoop('rescuer', logger, rescue, { condition });
}
