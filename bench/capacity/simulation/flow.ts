/** The way of the users in a step: clients send them, the dispatcher adds jobs, workers write. */
import type { Random } from '../../random.ts';
import type { Costs } from '../model.ts';
import type { Import } from './imports.ts';
import { queuedJobs, type Scenario, STEP_S, type State } from './state.ts';

/** Settings of the service, with their defaults (docs/operations.md). */
const WINDOW = 4000;
const MAX_BACKLOG = 20_000_000;
/** Bytes of Redis for each job in the queue, and for an idle server; measured (docs/performance.md, `memory`). */
const JOB_BYTES = 512;
const SERVER_BYTES = 3_000_000;
/** How long a client waits after 429, on average. */
const RETRY_S = 30;

/** Uploads share the API's cores; above MAX_BACKLOG they are answered 429. */
export function send(state: State, random: Random, { size }: Scenario, costs: Costs): void {
  const perStep = (size.api / costs.api) * 1e6 * STEP_S;
  state.room = Math.min(perStep, state.room + perStep);
  let backlog = state.open.reduce((sum, one) => sum + one.users - one.written, 0);
  for (const one of state.imports) {
    if (one.isSent || one.sendAt > state.now || state.room <= 0) continue;
    if (backlog > MAX_BACKLOG) {
      one.sendAt = state.now + RETRY_S * (0.5 + random.next());
      state.outcome.refused++;
      continue;
    }
    accept(state, one);
    backlog += one.users;
  }
  state.outcome.backlog = Math.max(state.outcome.backlog, backlog);
}

function accept(state: State, one: Import): void {
  state.room -= one.users;
  Object.assign(one, { isSent: true, progressAt: state.now, waiting: one.users });
  state.open.push(one);
}

/** Fewest queued jobs first, each import up to its window, as many as one core adds. */
export function dispatch(state: State, { size }: Scenario, costs: Costs): void {
  let room = (STEP_S / costs.dispatcher) * 1e6;
  const due = state.open.filter(({ waiting, queued }) => waiting > 0 && queued < WINDOW);
  for (const one of due.sort((a, b) => a.queued - b.queued)) {
    const jobs = Math.floor(Math.min(one.waiting, WINDOW - one.queued, room));
    one.waiting -= jobs;
    one.queued += jobs;
    room -= jobs;
  }
  const bytes = SERVER_BYTES + (queuedJobs(state) / size.shards) * JOB_BYTES;
  state.outcome.redisMegabytes = Math.max(state.outcome.redisMegabytes, bytes / 1e6);
}

/** The jobs of all imports in proportion to their number. What is left of a step is written with the chance of its size. */
export function write(state: State, random: Random, usersPerSecond: number): void {
  const queued = queuedJobs(state);
  const held = Math.min(
    queued,
    state.locked.reduce((sum, { jobs }) => sum + jobs, 0),
  );
  const part = queued > 0 ? Math.min(1 - held / queued, (usersPerSecond * STEP_S) / queued) : 0;
  for (const one of state.open) {
    const users = Math.min(one.queued, Math.floor(one.queued * part + random.next()));
    if (users === 0 || part === 0) continue;
    one.queued -= users;
    one.written += users;
    one.progressAt = state.now;
    state.outcome.written += users;
  }
  state.open = state.open.filter(({ users, written }) => written < users);
}
