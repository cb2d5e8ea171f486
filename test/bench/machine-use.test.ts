import assert from 'node:assert/strict';
import test from 'node:test';
import { limitOf, readUse, useBetween } from '../../bench/machine/machine-use.ts';

const before = { ms: 0, byRole: { worker: 0, redis: 500_000 }, busy: 100 };

test('the use of each role is counted in cores, and other busy time goes to others', () => {
  const use = useBetween(before, { ms: 1000, byRole: { worker: 900_000, redis: 700_000 }, busy: 1600 }, 2);
  assert.deepEqual(use, { cores: 2, used: { worker: 0.9, redis: 0.2 }, others: 0.4, idle: 0.5 });
});

test('inconsistent accounts give neither negative others nor negative idle cores', () => {
  const use = useBetween(before, { ms: 1000, byRole: { worker: 2_000_000, redis: 600_000 }, busy: 2000 }, 2);
  assert.equal(use.others, 0);
  assert.equal(use.idle, 0);
});

test('the limit is a process that uses all of its core, the machine, or waiting', () => {
  const use = { cores: 4, used: { worker: 1.2, redis: 0.95, postgres: 1.5 }, others: 0, idle: 0.35 };
  const single = { worker: 2, redis: 1 };
  assert.match(limitOf(use, single), /^redis:/);
  assert.match(limitOf({ ...use, used: { worker: 1.9, redis: 0.5 } }, single), /^worker:/);
  assert.equal(limitOf({ ...use, used: { ...use.used, redis: 0.8 } }, single), 'the machine; postgres uses most of it');
  assert.match(
    limitOf({ ...use, used: { ...use.used, redis: 0.5 }, others: 0.4 }, single),
    /shared with other programs/,
  );
  assert.match(limitOf({ ...use, used: { worker: 1.2, redis: 0.4 }, idle: 2.4 }, single), /^waiting/);
});

test('the load generator is one of the roles', { skip: process.platform !== 'linux' }, () => {
  const { byRole, busy } = readUse({ self: [process.pid] });
  assert.ok((byRole.self as number) > 0 && (byRole.load as number) > 0 && busy > 0);
});
