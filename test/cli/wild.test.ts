/**
 * Files from the wild (test/support/wild.ts): imports each as a person does; then everybody signs in. A new case is a
 * folder in test/fixtures/wild. `WILD_CASES=FOLDER` runs over other cases, and reports figures instead of comparing.
 */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { type Service, startService } from '../support/processes/service.ts';
import {
  type Attempt,
  isDeadHash,
  isOpenDoor,
  isRight,
  type Ran,
  runWild,
  type WildCase,
  wildCases,
} from '../support/wild.ts';

const MEASURED = process.env.WILD_CASES;

test('nobody gets in who was kept out, and every hash that will verify does', async (t) => {
  // How long a refusal takes is not of interest here.
  const service = await startService(t, { backend: 'postgres', env: { LOGIN_DELAY_MS: '0' } });
  if (MEASURED !== undefined) return measure(t, service, wildCases(MEASURED));
  for (const given of wildCases()) {
    await t.test(given.case, async () => compare(given, await runWild(service, given)));
  }
});

function compare(given: WildCase, { code, shown, attempts, states }: Ran): void {
  if (given.exit !== undefined) assert.equal(code, given.exit, shown);
  for (const text of given.says ?? []) assert.ok(shown.includes(text), `"${text}" is not in:\n${shown}`);
  for (const text of given.neverSays ?? []) assert.ok(!shown.includes(text), `"${text}" is in:\n${shown}`);
  for (const [name, state] of Object.entries(given.states ?? {})) {
    assert.equal(states[name] ?? 'absent', state, `${name}: ${JSON.stringify(states)}\n${shown}`);
  }
  for (const attempt of attempts) assert.notEqual(isRight(attempt), false, `${textOf(attempt)}\n${shown}`);
  assert.deepEqual(attempts.filter(isDeadHash).map(textOf), [], shown);
}

async function measure(t: TestContext, service: Service, cases: readonly WildCase[]): Promise<void> {
  const all: Attempt[] = [];
  for (const given of cases) {
    const { code, shown, attempts, states } = await runWild(service, given);
    all.push(...attempts);
    t.diagnostic(`${given.case}: exit ${code}; ${JSON.stringify(states)}`);
    if (process.env.WILD_SHOW) t.diagnostic(shown);
    for (const attempt of attempts.filter((one) => isRight(one) === false || isDeadHash(one)))
      t.diagnostic(`  wrong: ${textOf(attempt)}`);
  }
  const judged = all.filter((one) => isRight(one) !== undefined);
  t.diagnostic(
    `${judged.filter((one) => isRight(one)).length} of ${judged.length} sign-ins right, ` +
      `${all.filter(isOpenDoor).length} open doors, ${all.filter(isDeadHash).length} dead hashes`,
  );
}

function textOf({ name, expected, isIn, needsCode }: Attempt): string {
  const how = isIn ? 'is in' : needsCode ? 'needs a code' : 'is refused';
  return `${name}: ${how}, expected ${expected}`;
}
