/**
 * The role `rescue`: ends imports at their deadline, restarts stuck ones, removes interrupted uploads
 * (src/imports/upkeep/rescue.ts), and undoes imports (src/imports/control/undo.ts). Any number of processes may run it;
 * one at a time undoes.
 */
import type { Logger } from 'pino';
import { isAnyUndoing, UNDO_BATCH, undoRound } from '../src/imports/control/undo.ts';
import type { Queues } from '../src/imports/queue/queues.ts';
import { rescueRound } from '../src/imports/upkeep/rescue.ts';
import type { Config } from '../src/platform/config.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { publish } from '../src/platform/telemetry.ts';
import { withTimeout } from '../src/platform/timeouts.ts';
import { openDuty, openWorkPoller, type Pause, startLoop, type WorkPoller } from './loop.ts';

const MAX_INTERVAL_MS = 500;
/** The longest wait for a queue that does not answer, so that deadlines are not delayed. */
const DEPTH_MS = 2000;

export interface RescuerDeps {
  pool: Pool;
  config: Config;
  queues: Pick<Queues, 'depth'>;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
}

/** Runs the rescue in rounds. */
export function startRescuer(deps: RescuerDeps): { stop(): Promise<unknown> } {
  const { pool, config, queues, logger, condition, poller = openWorkPoller(pool) } = deps;
  const settings = {
    rescueAfterMs: config.RESCUE_AFTER_MS,
    abandonedAfterMs: config.ABANDONED_AFTER_MS,
    queue: {
      depth: () => withTimeout(depthOf(queues), DEPTH_MS, 'the queue'),
      mostHeld: Math.min(2 * config.WORKER_CONCURRENCY, config.DISPATCH_WINDOW),
    },
  };
  const interval = Math.min(MAX_INTERVAL_MS, config.RESCUE_AFTER_MS);
  async function rescue(): Promise<Pause> {
    const { redispatched, swept } = await rescueRound(pool, settings);
    publish('rescues', redispatched.length);
    publish('uploadsRemoved', swept);
    if (redispatched.length > 0) logger.warn({ imports: redispatched }, 'stuck imports are dispatched again');
    if (swept > 0) logger.info({ swept }, 'interrupted uploads are removed');
    return poller.until('rescue', { afterMs: interval });
  }
  return startLoop('rescuer', logger, rescue, { condition });
}

/** The jobs of imports. */
async function depthOf(queues: Pick<Queues, 'depth'>): Promise<number> {
  const [imports, hashes] = await Promise.all([queues.depth('imports'), queues.depth('hashes')]);
  return imports + hashes;
}

export interface UndoerDeps {
  pool: Pool;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
}

/** Undoes imports while this process has the duty. */
export function startUndoer({ pool, logger, condition, poller = openWorkPoller(pool) }: UndoerDeps): {
  stop(): Promise<void>;
} {
  const duty = openDuty('undoer', { pool, logger, condition });

  async function round(): Promise<number> {
    await undoRound(pool, UNDO_BATCH);
    return 0;
  }
  const loop = startLoop('undoer', logger, async () =>
    (await isAnyUndoing(pool)) ? duty.round(round) : poller.until('undo'),
  );
  return {
    async stop() {
      await loop.stop();
      await duty.giveUp();
    },
  };
}
