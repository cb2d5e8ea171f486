/** Undoes imports; one process at a time does it. See src/imports/control/undo.ts. */
import type { Logger } from 'pino';
import type { Condition } from '../src/condition.ts';
import type { Pool } from '../src/db/pool.ts';
import { isAnyUndoing, UNDO_BATCH, undoRound } from '../src/imports/control/undo.ts';
import { openDuty } from './duty.ts';
import { type Look, openLook } from './look.ts';
import { startLoop } from './loop.ts';

export interface UndoerDeps {
  pool: Pool;
  logger: Logger;
  condition?: Condition;
  look?: Look;
}

export function startUndoer({ pool, logger, condition, look = openLook(pool) }: UndoerDeps): { stop(): Promise<void> } {
  const duty = openDuty('undoer', { pool, logger, condition });

  async function round(): Promise<number> {
    await undoRound(pool, UNDO_BATCH);
    return 0;
  }
  const loop = startLoop('undoer', logger, async () =>
    (await isAnyUndoing(pool)) ? duty.round(round) : look.until('undo'),
  );
  return {
    async stop() {
      await loop.stop();
      await duty.giveUp();
    },
  };
}
