/**
 * `npm run chaos`: imports on real processes and stores while these are killed, frozen and cut off; then compares the
 * database, the mails and the webhooks with what was sent.
 *
 *   npm run chaos -- [--seed S] [--rounds N] [--from R] [--backend redis|postgres] [--only FAULT,…]
 *                    [--users N] [--at-once N] [--json] [--plan]
 *
 * Only results go to stdout.
 * Guarantee: the plan of a round depends on the seed, the round and the backend alone. Everything that a run starts
 * ends with it.
 * Exit code 0: nothing was wrong; 1: something was, and the data and logs are kept; 2: the arguments are wrong.
 */
import { runCommand } from '../bench/command.ts';
import type { Scope } from '../bench/scope.ts';
import { useOwnBundles } from '../test/support/runner/bundle.ts';
import { FAULTS, faultsFor } from './faults/registry.ts';
import { keepEvidence, leaveFolder, makeFolder } from './folder.ts';
import { type Options, readOptions } from './options.ts';
import { type Backend, makePlan, type Plan } from './plan/plan.ts';
import { planText } from './plan/print.ts';
import { add, describe, emptyReport, type Report, summary } from './report.ts';
import { runRound } from './round.ts';
import { openStand, type Stand } from './stand/stand.ts';

const say = (line: string) => console.error(line);

function planOf({ seed, only, users = 0 }: Options, backend: Backend, round: number): Plan {
  return makePlan({ seed, round, backend, faults: faultsFor(backend, only), users });
}

function roundsOf({ from, rounds }: Options): number[] {
  return Array.from({ length: rounds }, (_, i) => from + i);
}

/** @returns false when something is wrong */
async function runBackend(scope: Scope, options: Options, backend: Backend): Promise<boolean> {
  const report = emptyReport(backend, options.seed);
  const start = performance.now();
  const left = roundsOf(options);
  const lanes = Array.from({ length: options.atOnce }, () => runLane(scope, options, left, report));
  const ended = await Promise.allSettled(lanes);
  for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
  report.seconds = Math.round((performance.now() - start) / 1000);
  console.log(options.json ? JSON.stringify(report) : summary(report));
  return (await Promise.all(lanes)).every(Boolean);
}

/**
 * Takes one round after the other of those that are left, on stores and processes of its own. When something is wrong
 * it leaves none to the other lanes.
 * @returns false when something is wrong
 */
async function runLane(scope: Scope, options: Options, left: number[], report: Report): Promise<boolean> {
  let isRight = true;
  await scope.within(async (inner) => {
    const folder = await inner.start(makeFolder, (made) => leaveFolder(made, !isRight));
    const stand = await openStand(inner, report.backend, folder);
    for (let round = left.shift(); round !== undefined; round = left.shift()) {
      isRight = false; // until it has ended
      try {
        isRight = await oneRound(stand, planOf(options, report.backend, round), report);
      } finally {
        if (!isRight) left.length = 0;
      }
    }
  });
  return isRight;
}

async function oneRound(stand: Stand, plan: Plan, report: Report): Promise<boolean> {
  const start = performance.now();
  const outcome = await runRound(stand, plan).catch(async (error) => {
    await keepEvidence(stand, plan, []);
    say(`Round ${plan.round} failed; its data and logs are in ${stand.dir}.`);
    throw error;
  });
  add(report, outcome);
  const names = plan.faults.map(({ fault }) => fault).join(', ');
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  say(`${plan.backend} round ${plan.round}: ${outcome.users} users, ${seconds} s; ${names}`);
  if (outcome.problems.length === 0) return true;
  await keepEvidence(stand, plan, outcome.problems);
  say(`${planText(plan)}\n${describe(outcome.problems)}`);
  say(`Data and logs are in ${stand.dir}.`);
  return false;
}

async function runAll(scope: Scope, options: Options): Promise<boolean> {
  if (options.plan) {
    for (const backend of options.backends)
      for (const round of roundsOf(options))
        console.log(
          options.json ? JSON.stringify(planOf(options, backend, round)) : planText(planOf(options, backend, round)),
        );
    return true;
  }
  // Faults start so many processes that most of a round's processor time would be the loading of sources.
  await scope.start(useOwnBundles, (remove) => remove());
  let isRight = true;
  for (const backend of options.backends) isRight = (await runBackend(scope, options, backend)) && isRight;
  return isRight;
}

await runCommand((scope) => runAll(scope, readOptions(process.argv.slice(2), Object.keys(FAULTS))));
