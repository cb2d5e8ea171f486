/**
 * The role `maintenance`: removes expired data: failed logins, sessions and tokens, idempotency keys, audit events, and the payload
 * of imports (see src/imports/maintenance/retention.ts). Any number of processes may run it.
 */
import type { Logger } from 'pino';
import { sweepAudit } from '../src/audit/sweep.ts';
import type { Config } from '../src/config.ts';
import type { Db, Pool } from '../src/db/pool.ts';
import { sweepFailures } from '../src/identity/login/failures.ts';
import { sweepExpired } from '../src/identity/oauth/sweep.ts';
import { parseDuration } from '../src/imports/duration.ts';
import { sweepKeys } from '../src/imports/intake/idempotency.ts';
import { eraseRound } from '../src/imports/maintenance/retention.ts';
import { startLoop } from './loop.ts';

const SWEEP_EVERY_MS = 60_000;
/** A short IMPORT_PAYLOAD_TTL is checked more often, but not more often than this. */
const LEAST_INTERVAL_MS = 500;
/** Each removes expired data; nothing depends on when it runs. */
const SWEEPS: ((db: Db) => Promise<unknown>)[] = [sweepFailures, sweepExpired, sweepKeys];

export interface MaintenanceDeps {
  pool: Pool;
  config: Pick<Config, 'IMPORT_PAYLOAD_TTL' | 'AUDIT_RETENTION_DAYS'>;
  logger: Logger;
}

export function startMaintenance({ pool, config, logger }: MaintenanceDeps): { stop(): Promise<unknown> } {
  const sweeper = startLoop('sweeper', logger, async () => {
    for (const sweep of SWEEPS) await sweep(pool);
    await sweepAudit(pool, config.AUDIT_RETENTION_DAYS);
    return SWEEP_EVERY_MS;
  });
  const payloadTtlMs = parseDuration(config.IMPORT_PAYLOAD_TTL) as number;
  const eraser = startLoop('eraser', logger, async () =>
    (await eraseRound(pool, payloadTtlMs)) ? 0 : Math.min(SWEEP_EVERY_MS, Math.max(LEAST_INTERVAL_MS, payloadTtlMs)),
  );
  return { stop: () => Promise.all([sweeper.stop(), eraser.stop()]) };
}
