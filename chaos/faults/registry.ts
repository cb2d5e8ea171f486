/** All faults, by the names that plans and `--only` use. README.md describes them. */
import type { Backend } from '../plan/plan.ts';
import { clockJump } from './clock-jump.ts';
import { failingReceiver } from './failing-receiver.ts';
import type { Fault } from './fault.ts';
import { freezeApi } from './freeze-api.ts';
import { freezeWorker } from './freeze-worker.ts';
import { fullDisk } from './full-disk.ts';
import { holdApi } from './hold-api.ts';
import { killAll } from './kill-all.ts';
import { killApi } from './kill-api.ts';
import { killWorker } from './kill-worker.ts';
import { cutLine, halfOpenLine, shutLine, silenceLine, slowLine } from './lines.ts';
import { crashBackend, endSessions, fewConnections, freezeBackend, killPostgres, restartPostgres } from './postgres.ts';
import { flushRedis, freezeRedis, fullRedis, killRedis } from './redis.ts';
import { rollingRestart } from './rolling-restart.ts';
import { busySmtp, droppingSmtp, refusingSmtp, slowSmtp } from './smtp.ts';

export const FAULTS: Record<string, Fault> = {
  'kill-worker': killWorker,
  'kill-api': killApi,
  'kill-all': killAll,
  'freeze-worker': freezeWorker,
  'freeze-api': freezeApi,
  'rolling-restart': rollingRestart,
  'kill-postgres': killPostgres,
  'restart-postgres': restartPostgres,
  'crash-backend': crashBackend,
  'end-sessions': endSessions,
  'few-connections': fewConnections,
  'freeze-backend': freezeBackend,
  'kill-redis': killRedis,
  'flush-redis': flushRedis,
  'freeze-redis': freezeRedis,
  'full-redis': fullRedis,
  'cut-line': cutLine,
  'shut-line': shutLine,
  'silence-line': silenceLine,
  'half-open-line': halfOpenLine,
  'slow-line': slowLine,
  'slow-smtp': slowSmtp,
  'refusing-smtp': refusingSmtp,
  'busy-smtp': busySmtp,
  'dropping-smtp': droppingSmtp,
  'failing-receiver': failingReceiver,
  'hold-api': holdApi,
  'clock-jump': clockJump,
  'full-disk': fullDisk,
};

/** The faults that strike with this queue. @param only absent: all */
export function faultsFor(backend: Backend, only?: string[]): Record<string, Fault> {
  const chosen = Object.entries(FAULTS).filter(([name]) => !only || only.includes(name));
  return Object.fromEntries(chosen.filter(([, fault]) => (fault.backend ?? backend) === backend));
}
