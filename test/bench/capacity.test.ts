/** The arithmetic of `npm run capacity`, its arguments, and that docs/scaling.md shows what it says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import {
  type Costs,
  firstLimit,
  limits,
  rate,
  readCapacityOptions,
  type Size,
  sizingTable,
} from '../../bench/capacity.ts';

const COSTS: Costs = { worker: 50, redis: 40, postgres: 30, api: 10, dispatcher: 8 };
const SIZE: Size = { worker: 4, redis: 2, postgres: 4, api: 1 };

test('a part alone reaches its cores divided by its cost, and the whole less than the lowest limit', () => {
  const alone = limits(SIZE, COSTS);
  assert.deepEqual(
    Object.values(alone).map(Math.round),
    [80_000, 50_000, 133_333, 100_000, 125_000],
    JSON.stringify(alone),
  );
  assert.equal(firstLimit(SIZE, COSTS), 'redis');
  assert.ok(rate(SIZE, COSTS) < 50_000);
  assert.ok(rate({ ...SIZE, redis: 3 }, COSTS) > rate(SIZE, COSTS), 'one more server helps');
});

test('sizes and costs can be given, and wrong ones are refused', () => {
  const { sizes, costs } = readCapacityOptions(['--worker', '4', '--postgres', '2.5', '--costs', 'postgres=45,api=6']);
  assert.deepEqual(sizes, [{ worker: 4, redis: 1, postgres: 2.5, api: 1 }]);
  assert.deepEqual([costs.postgres, costs.api, costs.redis], [45, 6, 19]);
  for (const args of [['--worker', '0'], ['--redis', 'x'], ['--costs', 'disk=1'], ['--costs', 'api'], ['--measure']])
    assert.throws(() => readCapacityOptions(args), /^Error: .+/);
});

test('docs/scaling.md shows the table and the costs', () => {
  const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
  const { costs } = readCapacityOptions([]);
  const listed = Object.entries(costs).map(([part, us]) => `${part} ${us}`);
  for (const text of [listed.join(', '), ...sizingTable().split('\n')])
    assert.ok(page.includes(text), `docs/scaling.md lacks: ${text}`);
});
