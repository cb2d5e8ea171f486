/**
 * A simulated installation that imports many users while its workers die and a store fails over.
 *
 * Time passes in steps of STEP_S. In each step clients send imports, the dispatcher fills each import's window, workers
 * write what the model (../model.ts) allows with the workers and shards that live, and the rescuer resets imports that
 * stand still. It follows numbers of users, not single ones, and knows nothing of disks and networks.
 *
 * Guarantee: the same seed gives the same result, and every user is written exactly once.
 */
import { type Random, seeded } from '../../random.ts';
import { type Costs, rate } from '../model.ts';
import { die, failOver, isDown, rescue } from './faults.ts';
import { dispatch, send, write } from './flow.ts';
import { makeImports } from './imports.ts';
import { type Outcome, type Scenario, STEP_S, type State } from './state.ts';

/** @param p the exponent of the model */
export function simulate(scenario: Scenario, costs: Costs, p: number): Outcome {
  const random = seeded(scenario.seed);
  const state = begin(random, scenario);
  const { outcome } = state;
  while (outcome.written < scenario.users) {
    state.now += STEP_S;
    send(state, random, scenario, costs);
    dispatch(state, scenario, costs);
    die(state, random, scenario);
    failOver(state, scenario, rate(scenario.size, costs, p));
    write(state, random, rateNow(state, scenario, costs, p));
    rescue(state);
  }
  return { ...outcome, seconds: state.now, usersPerSecond: scenario.users / state.now };
}

function begin(random: Random, { orgs, users, sentWithin, size, churn }: Scenario): State {
  const none = { seconds: 0, written: 0, usersPerSecond: 0, backlog: 0, redisMegabytes: 0, refused: 0, deaths: 0 };
  return {
    now: 0,
    imports: makeImports(random, orgs, users, sentWithin),
    open: [],
    room: 0,
    starting: [],
    nextDeath: random.exponential(churn.meanLife / size.worker),
    locked: [],
    outcome: { ...none, repeated: 0, lostJobs: 0, rescues: 0 },
  };
}

function rateNow(state: State, scenario: Scenario, costs: Costs, p: number): number {
  const { size } = scenario;
  const worker = size.worker - state.starting.length;
  const shards = size.shards - (isDown(state, scenario) ? 1 : 0);
  return worker > 0 && shards > 0 ? rate({ ...size, worker, shards }, costs, p) : 0;
}
