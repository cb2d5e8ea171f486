/** Ends imports at their deadline and sets stuck ones moving again; see src/imports/rescue.ts. Any number may run. */
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Pool } from '../src/db/pool.ts';
import { rescueRound } from '../src/imports/rescue.ts';
import { startLoop } from './loop.ts';

const MAX_INTERVAL_MS = 500;

export function startRescuer(deps: { pool: Pool; config: Config; logger: Logger }): { stop(): Promise<void> } {
  const { pool, config, logger } = deps;
  const settings = { rescueAfterMs: config.RESCUE_AFTER_MS, abandonedAfterMs: config.ABANDONED_AFTER_MS };
  const interval = Math.min(MAX_INTERVAL_MS, config.RESCUE_AFTER_MS);
  return startLoop('rescuer', logger, async () => {
    const { redispatched, swept } = await rescueRound(pool, settings);
    if (redispatched.length > 0) logger.warn({ imports: redispatched }, 'stuck imports are dispatched anew');
    if (swept > 0) logger.info({ swept }, 'uploads that were cut off are removed');
    return interval;
  });
}
