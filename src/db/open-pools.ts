/** The pools that are open in this process, and how many of their connections are in use; for `/metrics`. */
import type pg from 'pg';

/** Numbers of connections; `waiting` is the number of callers that wait for one. */
export interface PoolUse {
  connections: number;
  idle: number;
  max: number;
  waiting: number;
}

const open = new Map<pg.Pool, string>();

/** @param label several pools may have the same one */
export function notePool(pool: pg.Pool, label: string): void {
  open.set(pool, label);
}

/** By label. */
export function poolUse(): Record<string, PoolUse> {
  const uses: Record<string, PoolUse> = {};
  for (const [pool, label] of open) {
    if (pool.ending) open.delete(pool);
    else uses[label] = plus(uses[label], pool);
  }
  return uses;
}

function plus(use: PoolUse | undefined, pool: pg.Pool): PoolUse {
  const { connections, idle, max, waiting } = use ?? { connections: 0, idle: 0, max: 0, waiting: 0 };
  return {
    connections: connections + pool.totalCount,
    idle: idle + pool.idleCount,
    max: max + pool.options.max,
    waiting: waiting + pool.waitingCount,
  };
}
