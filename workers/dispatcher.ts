/** Keeps the queue filled; one process at a time does it. See src/imports/run/dispatch.ts. */
import type { Logger } from 'pino';
import type { Queues } from '../src/imports/queue/queues.ts';
import { dispatchRound } from '../src/imports/run/dispatch.ts';
import { sampleRates } from '../src/imports/status/rates.ts';
import type { Config } from '../src/platform/config.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { loggable } from '../src/platform/logger.ts';
import { openDuty, openWorkPoller, type Pause, RENEW_MS, startLoop, type WorkPoller } from './loop.ts';

const BUSY_MS = 10;
/** The pause when no import has room for more jobs: about as long as a worker takes for a few hundred jobs. */
const FULL_MS = 30;
const SLICE = 1000;
/** Between two samples of the rates of imports, of which the first in each second counts. */
const SAMPLE_MS = 500;

export function startDispatcher(deps: {
  pool: Pool;
  config: Config;
  queues: Queues;
  logger: Logger;
  condition?: Condition;
  poller?: WorkPoller;
}): {
  stop(): Promise<void>;
} {
  const { pool, config, queues, logger, condition, poller = openWorkPoller(pool) } = deps;
  const settings = { window: config.DISPATCH_WINDOW, slice: Math.min(SLICE, config.DISPATCH_WINDOW) };
  const duty = openDuty('dispatcher', { pool, logger, condition });

  let sampledAt = 0;

  /** Users do not wait for a chart: dispatching goes on when sampling fails. */
  async function sample(): Promise<void> {
    if (performance.now() - sampledAt < SAMPLE_MS) return;
    sampledAt = performance.now();
    await sampleRates(pool).catch((err) =>
      logger.warn({ err: loggable(err) }, 'the rates of imports were not sampled'),
    );
  }

  async function round(): Promise<Pause> {
    await sample();
    const { open, added } = await dispatchRound({ pool, queues }, settings);
    if (open === 0) return poller.until('dispatch', { withinMs: RENEW_MS });
    return added > 0 ? BUSY_MS : FULL_MS;
  }
  const loop = startLoop('dispatcher', logger, () => duty.round(round));

  return {
    async stop() {
      await loop.stop();
      await duty.giveUp();
    },
  };
}
