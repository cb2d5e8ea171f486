/**
 * Ends imports at their deadline and sets stuck ones moving again (see src/imports/maintenance/rescue.ts), and removes what nobody
 * asks for any more (see src/imports/maintenance/retention.ts). Any number may run.
 */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import type { Config } from '../src/config.ts';
import type { Db, Pool } from '../src/db/pool.ts';
import { sweepFailures } from '../src/identity/login/failures.ts';
import { sweepExpired } from '../src/identity/oauth/sweep.ts';
import { parseDuration } from '../src/imports/duration.ts';
import { sweepKeys } from '../src/imports/intake/idempotency.ts';
import { rescueRound } from '../src/imports/maintenance/rescue.ts';
import { eraseRound } from '../src/imports/maintenance/retention.ts';
import type { Queues } from '../src/queue/queues.ts';
import { withTimeout } from '../src/timeout.ts';
import { startLoop } from './loop.ts';

const MAX_INTERVAL_MS = 500;
/** Deadlines do not wait longer for a queue that is silent. */
const DEPTH_MS = 2000;
const SWEEP_EVERY_MS = 60_000;
/** Each removes what is past its time; nothing depends on when. */
const SWEEPS: ((db: Db) => Promise<unknown>)[] = [sweepFailures, sweepExpired, sweepKeys];

export interface RescuerDeps {
  pool: Pool;
  config: Config;
  queues: Pick<Queues, 'depth'>;
  logger: Logger;
  condition?: Condition;
}

export function startRescuer({ pool, config, queues, logger, condition }: RescuerDeps): {
  stop(): Promise<unknown>;
} {
  const settings = {
    rescueAfterMs: config.RESCUE_AFTER_MS,
    abandonedAfterMs: config.ABANDONED_AFTER_MS,
    queue: {
      depth: () => withTimeout(queues.depth('imports'), DEPTH_MS, 'the queue'),
      mostHeld: Math.min(config.WORKER_CONCURRENCY, config.DISPATCH_WINDOW),
    },
  };
  const interval = Math.min(MAX_INTERVAL_MS, config.RESCUE_AFTER_MS);
  async function rescue(): Promise<number> {
    const { redispatched, swept } = await rescueRound(pool, settings);
    if (redispatched.length > 0) logger.warn({ imports: redispatched }, 'stuck imports are dispatched anew');
    if (swept > 0) logger.info({ swept }, 'uploads that were cut off are removed');
    return interval;
  }
  const rescuer = startLoop('rescuer', logger, rescue, { condition });
  const sweeper = startLoop('sweeper', logger, async () => {
    for (const sweep of SWEEPS) await sweep(pool);
    return SWEEP_EVERY_MS;
  });
  const payloadTtlMs = parseDuration(config.IMPORT_PAYLOAD_TTL) as number;
  const eraser = startLoop('eraser', logger, async () =>
    (await eraseRound(pool, payloadTtlMs)) ? 0 : Math.min(SWEEP_EVERY_MS, Math.max(interval, payloadTtlMs)),
  );
  return { stop: () => Promise.all([rescuer.stop(), sweeper.stop(), eraser.stop()]) };
}
