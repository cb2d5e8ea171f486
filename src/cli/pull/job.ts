/** One pull: the old system, where its users go, and where a new run begins. */
import type { OldSystem, PullSystem } from '../../pull/system.ts';
import type { Session } from '../service/session.ts';
import { pastDate } from '../since.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { PullOptions } from './options.ts';
import type { PullRun, PullState } from './state.ts';

export interface PullJob {
  session: Session;
  system: PullSystem;
  old: OldSystem;
  options: PullOptions;
  orgId: string | undefined;
  statePath: string;
  /** Ctrl-C. */
  signal: AbortSignal;
}

/** The clocks of two machines differ; users that are read again without a change are not sent again. */
const OVERLAP_MS = 10 * 60_000;

/**
 * The interrupted run, as far as its system can continue it; else a new one.
 * @param since as given with `--since` @throws Failure (usage)
 */
export function runOf({ system, options }: PullJob, { run, last }: PullState, since: string | undefined): PullRun {
  if (run && !options.dryRun) return system.continues ? run : { ...run, cursor: undefined, read: 0, bytes: 0 };
  const startedAt = new Date().toISOString();
  return { startedAt, since: since === undefined ? undefined : sinceOf(system, last, since), read: 0, imports: [] };
}

function sinceOf(system: PullSystem, last: PullState['last'], since: string): string | undefined {
  if (since !== 'last') {
    if (system.tellsChanges === true) return pastDate(since);
    throw new Failure(`${system.title} does not tell when a user was changed.`, {
      exitCode: EXIT.usage,
      advice: 'Use --since last: only users that differ from what was sent before are sent.',
    });
  }
  if (last === undefined) {
    throw new Failure('There is no complete run before this one, so --since last has nothing to refer to.', {
      exitCode: EXIT.usage,
      advice: 'Run the command without --since first.',
    });
  }
  if (!system.tellsChanges) return undefined;
  if (system.tellsChanges === 'since the last run') return last.mark;
  return last.mark ?? new Date(Date.parse(last.startedAt) - OVERLAP_MS).toISOString();
}
