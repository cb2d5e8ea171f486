/** What goes wrong in a step: workers die, a master of Redis fails over; and what the rescuer restores. */
import type { Random } from '../../random.ts';
import { queuedJobs, type Scenario, STEP_S, type State } from './state.ts';

/** Settings of the service, with their defaults (docs/operations.md). */
const RESCUE_AFTER_S = 30;
const JOB_LOCK_S = 20;
const JOBS_OF_A_WORKER = 100;

/** A dead worker's jobs are held by their locks, then taken by others. */
export function die(state: State, random: Random, { size, churn }: Scenario): void {
  state.starting = state.starting.filter((ready) => ready > state.now);
  state.locked = state.locked.filter(({ until }) => until > state.now);
  while (state.nextDeath <= state.now) {
    state.nextDeath += random.exponential(churn.meanLife / size.worker);
    if (state.starting.length >= size.worker) continue;
    state.starting.push(state.now + churn.startS);
    // A stalled job is found by a check every half of its lock's time.
    state.locked.push({ until: state.now + 1.5 * JOB_LOCK_S, jobs: JOBS_OF_A_WORKER });
    state.outcome.deaths++;
    state.outcome.repeated += JOBS_OF_A_WORKER;
  }
}

export function isDown({ now }: State, { failover }: Scenario): boolean {
  return now >= failover.at && now < failover.at + failover.downS;
}

/** Jobs of the last seconds are not on the replica that takes over: the shard's part of what was added in them. */
export function failOver(state: State, { failover, size }: Scenario, usersPerSecond: number): void {
  if (state.now < failover.at || state.now - STEP_S >= failover.at) return;
  const queued = queuedJobs(state);
  if (queued === 0) return;
  const part = Math.min(1, (usersPerSecond * failover.lostS) / queued) / size.shards;
  for (const one of state.open) {
    const lost = Math.floor(one.queued * part);
    one.queued -= lost;
    one.lost += lost;
    state.outcome.lostJobs += lost;
  }
}

/** An import without progress is dispatched from its beginning; jobs that still exist keep their ids. */
export function rescue(state: State): void {
  for (const one of state.open) {
    if (one.lost === 0 || state.now - one.progressAt < RESCUE_AFTER_S) continue;
    one.waiting += one.lost;
    one.lost = 0;
    one.progressAt = state.now;
    state.outcome.rescues++;
  }
}
