/** Metrics that every process has: its version, its clock, its connections to PostgreSQL. */
import packageJson from '../../package.json' with { type: 'json' };
import { type PoolUse, poolUse } from '../db/open-pools.ts';
import type { Db } from '../db/pool.ts';
import type { Measure } from '../http/metrics/metrics.ts';
import { facts, type Instrument } from './instruments.ts';

export const buildInfo: Instrument = (registry) =>
  facts(registry, {
    name: 'muster_build_info',
    help: 'The version of Muster and of Node.js that this process runs.',
    labels: { version: packageJson.version, node: process.versions.node },
  });

export function processMeasures(db: Db): Measure[] {
  return [
    {
      name: 'muster_clock_skew_seconds',
      help: 'How far the clock of this process is ahead of that of PostgreSQL; negative: behind.',
      read: () => clockSkew(db),
    },
    ofPools('muster_db_pool_connections', 'Open connections to PostgreSQL, by pool.', 'connections'),
    ofPools('muster_db_pool_idle_connections', 'Open connections that no statement uses, by pool.', 'idle'),
    ofPools('muster_db_pool_max_connections', 'The most connections that the pool opens.', 'max'),
    ofPools('muster_db_pool_waiting_requests', 'Callers that wait for a connection, by pool.', 'waiting'),
  ];
}

/** Compares with the middle of the round trip, so a slow network is not taken for a wrong clock. */
async function clockSkew(db: Db): Promise<number> {
  const asked = Date.now();
  const { rows } = await db.query<{ at: number }>('select extract(epoch from clock_timestamp())::float8 as at');
  return (asked + Date.now()) / 2000 - (rows[0]?.at ?? Number.NaN);
}

function ofPools(name: string, help: string, what: keyof PoolUse): Measure {
  const read = async () => Object.fromEntries(Object.entries(poolUse()).map(([pool, use]) => [pool, use[what]]));
  return { name, help, label: 'pool', read };
}
