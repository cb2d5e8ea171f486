/**
 * The role `maintenance`: removes expired data (docs/operations.md lists it), the payload of imports, and old
 * imports (src/imports/upkeep/), removes deleted organizations, ends password sources, and writes the mails to users who
 * have not signed in. Any number of processes may run it.
 */
import type { Logger } from 'pino';
import { sweepConsoleSessions } from '../src/console/session-store.ts';
import { parseDuration } from '../src/contract/import-options.ts';
import { sweepAudit } from '../src/directory/audit.ts';
import { sweepEvents } from '../src/directory/event-retention.ts';
import { removeOrgRound } from '../src/directory/organization-removal.ts';
import { signInMailsRound } from '../src/imports/control/sign-in-mails.ts';
import { eraseDrafts } from '../src/imports/drafts/erase.ts';
import { sweepKeys } from '../src/imports/intake/idempotency.ts';
import { openEraser } from '../src/imports/upkeep/erasure.ts';
import { eraseRound, removeRound, sweepPeppers } from '../src/imports/upkeep/retention.ts';
import { sweepMailCounts, sweepUnusedCodes, sweepUsedCodes } from '../src/messages/mail/codes.ts';
import { sweepMails } from '../src/messages/mail/outbox.ts';
import { sweepCodeHolders } from '../src/messages/mail/sign-in-codes.ts';
import type { Config } from '../src/platform/config.ts';
import { sweepAttempts } from '../src/platform/db/counts.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import { SWEEP_ROWS } from '../src/platform/db/sweep.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { sweepDelays, sweepNetworks } from '../src/signin/login/delays.ts';
import { sweepMachineKeys } from '../src/signin/machines/keys.ts';
import { sweepPats } from '../src/signin/machines/tokens.ts';
import { sweepExpired } from '../src/signin/oauth/tokens.ts';
import { endRound } from '../src/signin/password-sources/store.ts';
import { sweepTrips } from '../src/signin/providers/store.ts';
import { sweepSessions, sweepWaitingSessions } from '../src/signin/sessions.ts';
import { sweepChallenges } from '../src/signin/webauthn/store.ts';
import { openDuty, type Pause, startLoop } from './loop.ts';

const SWEEP_EVERY_MS = 60_000;
/** After this time at the latest, the users of a password source that has ended get their emails. */
const END_EVERY_MS = 5000;
const DRAFTS_EVERY_MS = 15_000;
/** After this time at the latest, mails to users who have not signed in are written. */
const TELL_EVERY_MS = 2000;
/** Between two batches of a sweep that has more to remove, so that a large one slows imports little. */
const PAUSE_MS = 100;
/** A short IMPORT_PAYLOAD_TTL is checked more often, but not more often than this. */
const LEAST_INTERVAL_MS = 500;

type Settings = Pick<
  Config,
  | 'CODE_TTL_MS'
  | 'AUDIT_RETENTION_DAYS'
  | 'EVENT_RETENTION_DAYS'
  | 'ADMIN_EVENT_RETENTION_DAYS'
  | 'IMPORT_PAYLOAD_TTL'
  | 'IMPORT_TTL'
  | 'SESSION_TTL_DAYS'
>;

/** Each removes one batch of expired rows and returns how many, or how many it has passed; nothing depends on when it runs. */
export const SWEEPS: Record<string, (db: Pool, config: Settings) => Promise<number>> = {
  'login delays': sweepDelays,
  'login networks': sweepNetworks,
  'mail counts': sweepMailCounts,
  'code holders': sweepCodeHolders,
  attempts: sweepAttempts,
  'visits at providers': sweepTrips,
  'passkey challenges': sweepChallenges,
  oauth: sweepExpired,
  console: sweepConsoleSessions,
  keys: sweepKeys,
  sessions: (db, config) => sweepSessions(db, config.SESSION_TTL_DAYS),
  'waiting sessions': sweepWaitingSessions,
  mails: sweepMails,
  'used codes': sweepUsedCodes,
  'unused codes': sweepUnusedCodes,
  tokens: sweepPats,
  'machine keys': sweepMachineKeys,
  audit: (db, config) => sweepAudit(db, config.AUDIT_RETENTION_DAYS),
  events: (db, config) => sweepEvents(db, config.EVENT_RETENTION_DAYS, { isAll: false }),
  'admin events': (db, config) => sweepEvents(db, config.ADMIN_EVENT_RETENTION_DAYS, { isAll: true }),
};

export interface MaintenanceDeps {
  pool: Pool;
  config: Settings;
  logger: Logger;
  condition?: Condition;
}

export function startMaintenance({ pool, config, logger, condition }: MaintenanceDeps): { stop(): Promise<unknown> } {
  const start = (name: string, round: () => Promise<Pause>) => startLoop(name, logger, round, { condition });
  const sweepers = Object.entries(SWEEPS).map(([name, sweep]) =>
    start(`sweeper of ${name}`, async () => ((await sweep(pool, config)) < SWEEP_ROWS ? SWEEP_EVERY_MS : PAUSE_MS)),
  );
  const payloadTtlMs = parseDuration(config.IMPORT_PAYLOAD_TTL) as number;
  const importTtlMs = parseDuration(config.IMPORT_TTL) as number;
  const eraser = start('eraser', async () =>
    (await eraseRound(pool, payloadTtlMs)) ? 0 : Math.min(SWEEP_EVERY_MS, Math.max(LEAST_INTERVAL_MS, payloadTtlMs)),
  );
  const remover = start('remover', async () => ((await removeRound(pool, importTtlMs)) ? PAUSE_MS : SWEEP_EVERY_MS));
  const orgs = start('remover of organizations', async () =>
    (await removeOrgRound(pool)) ? PAUSE_MS : SWEEP_EVERY_MS,
  );
  const ender = start('password sources', async () =>
    (await endRound(pool, { codeTtlMs: config.CODE_TTL_MS })) ? PAUSE_MS : END_EVERY_MS,
  );
  const telling = start('sign-in mails', async () => ((await signInMailsRound(pool)) ? 0 : TELL_EVERY_MS));
  const drafts = start('eraser of drafts', async () => ((await eraseDrafts(pool)) ? 0 : DRAFTS_EVERY_MS));
  const erasing = openDuty('eraser of people', { pool, logger });
  const erase = openEraser(pool);
  const people = start('eraser of people', () => erasing.round(erase));
  const peppers = start('eraser of peppers', async () => {
    await sweepPeppers(pool);
    return SWEEP_EVERY_MS;
  });
  return {
    async stop() {
      const loops = [...sweepers, eraser, remover, orgs, ender, telling, drafts, people, peppers];
      await Promise.all(loops.map((loop) => loop.stop()));
      await erasing.giveUp();
    },
  };
}
