/** The plans of `npm run chaos` and its arguments. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { UsageError } from '../../bench/command.ts';
import { FAULTS, faultsFor } from '../../chaos/faults/registry.ts';
import { readOptions } from '../../chaos/options.ts';
import { makePlan } from '../../chaos/plan/plan.ts';

const planOf = (seed: number, round: number, backend: 'redis' | 'postgres' = 'redis') =>
  makePlan({ seed, round, backend, faults: faultsFor(backend) });
const rounds = Array.from({ length: 200 }, (_, i) => i + 1);

it('is the same for the same seed, round and queue, and another one for others', () => {
  assert.deepEqual(planOf(7, 3), planOf(7, 3));
  const plans = [planOf(7, 3), planOf(8, 3), planOf(7, 4), planOf(7, 3, 'postgres')];
  assert.equal(new Set(plans.map((plan) => JSON.stringify({ ...plan, seed: 0, round: 0, backend: '' }))).size, 4);
});

it('strikes with every fault and every action within 200 rounds, and with faults of Redis only where there is one', () => {
  const plans = rounds.map((round) => planOf(1, round));
  const struck = new Set(plans.flatMap(({ faults }) => faults.map(({ fault }) => fault)));
  assert.deepEqual([...struck].sort(), Object.keys(FAULTS).sort());
  const singles = plans.flatMap((plan) => plan.singles.map(({ keyed, mailDue }) => `${keyed} ${mailDue}`));
  assert.equal(new Set(singles).size, 4);
  const actions = new Set(plans.flatMap(({ imports }) => imports.flatMap(({ steps }) => steps.map((s) => s.action))));
  assert.deepEqual([...actions].sort(), [
    'cancel',
    'end',
    'pause',
    'repeat',
    'report',
    'resume',
    'retry',
    'send_mails',
    'undo',
  ]);
  const onPostgres = rounds.flatMap((round) => planOf(1, round, 'postgres').faults.map(({ fault }) => fault));
  assert.deepEqual(
    onPostgres.filter((name) => name.endsWith('-redis')),
    [],
  );
});

it('adds a large import on request, with as many more faults', () => {
  const large = makePlan({ seed: 7, round: 3, backend: 'redis', faults: faultsFor('redis'), users: 100_000 });
  assert.deepEqual(
    large.imports.map(({ users }) => users).filter((users) => users > 500),
    [100_000],
  );
  assert.ok(large.faults.length > 20 && (large.faults.at(-1)?.atMs ?? 0) > 20_000);
});

it('takes its arguments, and names what is wrong with them', () => {
  const names = Object.keys(FAULTS);
  const { backends, rounds: wanted, seed, atOnce } = readOptions(['--seed', '5', '--rounds', '9'], names);
  assert.deepEqual([backends, wanted, seed, atOnce], [['redis', 'postgres'], 9, 5, 1]);
  const wrong: [string[], RegExp][] = [
    [['--rounds', '0'], /--rounds must be a whole number from 1 to/],
    [['--at-once', 'two'], /--at-once must be a whole number/],
    [['--backend', 'mysql'], /--backend must be redis or postgres, not "mysql"/],
    [['--only', 'flood'], /There is no fault "flood": --only takes kill-worker/],
    [['--round', '1'], /Unknown option '--round'/],
  ];
  for (const [args, message] of wrong) {
    assert.throws(
      () => readOptions(args, names),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  }
});
