/** Undoes imports; one process at a time does it. See src/imports/control/undo.ts. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import type { Pool } from '../src/db/pool.ts';
import { isAnyUndoing, undoRound } from '../src/imports/control/undo.ts';
import { openDuty } from './duty.ts';
import { startLoop } from './loop.ts';

const IDLE_MS = 250;
const BATCH = 500;

export function startUndoer({ pool, logger, condition }: { pool: Pool; logger: Logger; condition?: Condition }): {
  stop(): Promise<void>;
} {
  const duty = openDuty('undoer', { pool, logger, condition });

  async function round(): Promise<number> {
    await undoRound(pool, BATCH);
    return 0;
  }
  const loop = startLoop('undoer', logger, async () => ((await isAnyUndoing(pool)) ? duty.round(round) : IDLE_MS));
  return {
    async stop() {
      await loop.stop();
      await duty.giveUp();
    },
  };
}
