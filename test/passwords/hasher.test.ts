/** The hashing threads: their results, their duration, and when they start and end. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import test from 'node:test';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { type Hasher, type HasherOptions, openHasher } from '../../src/passwords/hasher.ts';
import { computeNothing, makeHash, verifyPassword } from '../../src/passwords/registry.ts';
import { bcryptLibrary } from '../../src/passwords/schemes/bcrypt.ts';
import { oneOfEach } from './known-answers.ts';

async function withHasher(options: Partial<HasherOptions>, use: (hasher: Hasher) => Promise<void>): Promise<void> {
  const hasher = openHasher({ threads: 2, bcryptCost: 4, ...options });
  try {
    await use(hasher);
  } finally {
    await hasher.close();
  }
}

/**
 * Milliseconds of processor time of each work, in all threads, in its fastest run: other load on the machine hardly
 * changes them. They alternate until `enough` of the times, or a hundred times.
 */
async function fastest(
  runs: Array<() => Promise<unknown>>,
  enough: (best: readonly number[]) => boolean,
): Promise<number[]> {
  const best = runs.map(() => Number.POSITIVE_INFINITY);
  for (let turn = 1; turn <= 100 && (turn <= 5 || !enough(best)); turn++) {
    for (const [i, run] of runs.entries()) {
      const start = process.cpuUsage();
      await run();
      const { user, system } = process.cpuUsage(start);
      best[i] = Math.min(best[i] as number, (user + system) / 1000);
    }
  }
  return best;
}

/** Of `password`. */
const MD5 = '5f4dcc3b5aa765d61d8327deb882cf99';
const ARGON2ID_OF_OURS = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

test('new hashes are bcrypt of cost 10, each with its own salt', () =>
  withHasher({ bcryptCost: undefined }, async (hasher) => {
    const [a, b] = await Promise.all([hasher.hash('secret'), hasher.hash('secret')]);
    assert.match(a, /^\$2b\$10\$[./A-Za-z0-9]{53}$/);
    assert.notEqual(a, b);
    assert.deepEqual(await hasher.verify(a, 'secret'), { ok: true, rehash: false });
    assert.deepEqual(await hasher.verify(a, 'Secret'), { ok: false, rehash: false });
  }));

test('a password of more than 72 bytes is hashed completely, with argon2id', () =>
  withHasher({}, async (hasher) => {
    assert.match(await hasher.hash('x'.repeat(72)), /^\$2b\$04\$/);
    assert.match(await hasher.hash('é'.repeat(36)), /^\$2b\$04\$/);
    const long = `${'é'.repeat(36)}x`;
    const hash = await hasher.hash(long);
    assert.match(hash, ARGON2ID_OF_OURS);
    assert.deepEqual(await hasher.verify(hash, long), { ok: true, rehash: false });
    assert.deepEqual(await hasher.verify(hash, `${long}x`), { ok: false, rehash: false });
  }));

test('requests a rehash if scheme or cost is outdated', () =>
  withHasher({ bcryptCost: 5 }, async (hasher) => {
    const old = openHasher({ threads: 1, bcryptCost: 4 });
    const [cost4, cost5] = await Promise.all([old.hash('p'), hasher.hash('p')]);
    await old.close();
    assert.deepEqual(await hasher.verify(cost4, 'p'), { ok: true, rehash: true });
    assert.deepEqual(await hasher.verify(cost5.replace('$2b$', '$2y$'), 'p'), { ok: true, rehash: false });
  }));

test('keeps bcrypt of a password of more than 72 bytes: the ignored end may be mistyped', () =>
  withHasher({ bcryptCost: 5 }, async (hasher) => {
    const hash = await hasher.hash('x'.repeat(72));
    assert.deepEqual(await hasher.verify(hash, `${'x'.repeat(72)}typo`), { ok: true, rehash: false });
  }));

test('verifies every scheme in its threads and requests a rehash', () =>
  withHasher({ bcryptCost: 6 }, async (hasher) => {
    const verified = oneOfEach().map(async ({ encoded, password, scheme }) => {
      assert.deepEqual(await hasher.verify(encoded, password), { ok: true, rehash: true }, scheme);
      assert.deepEqual(await hasher.verify(encoded, `!${password}`), { ok: false, rehash: false }, scheme);
    });
    await Promise.all(verified);
  }));

test('an invalid hash verifies as a wrong password', () =>
  withHasher({}, async (hasher) => {
    assert.deepEqual(await hasher.verify('$9$what$ever', 'p'), { ok: false, rehash: false });
  }));

test('an unknown user and a wrong password take the same work, even with a cheap imported hash', (t) => {
  const { mock } = t.mock.method(bcryptLibrary(), 'hash');
  const costs = (work: () => unknown) => {
    mock.resetCalls();
    work();
    return mock.calls.map(({ arguments: [, cost] }) => cost);
  };
  const hash = makeHash('right', 10);
  assert.deepEqual(
    costs(() => computeNothing('wrong', 10)),
    [10],
  );
  assert.deepEqual(
    costs(() => verifyPassword(hash, 'wrong', 10)),
    [10],
  );
  assert.deepEqual(
    costs(() => verifyPassword(MD5, 'wrong', 10)),
    [10],
  );
});

test('neither is found out by the processor time in the threads', () =>
  withHasher({ bcryptCost: 10 }, async (hasher) => {
    const hash = await hasher.hash('right');
    // A hash of this kind alone takes a thousandth.
    const isAlike = (time: number, nothing: number) => time > nothing / 5 && time < 5 * nothing;
    const [nothing = 0, ...wrong] = await fastest(
      [() => hasher.verifyNothing('wrong'), () => hasher.verify(hash, 'wrong'), () => hasher.verify(MD5, 'wrong')],
      ([nothing = 0, ...wrong]) => wrong.every((time) => isAlike(time, nothing)),
    );
    for (const time of wrong) assert.ok(isAlike(time, nothing), `${time} ms, for no user ${nothing} ms`);
  }));

test('the event loop stays free while the threads hash', () =>
  withHasher({ bcryptCost: 10 }, async (hasher) => {
    await Promise.all([hasher.verifyNothing('warm'), hasher.verifyNothing('both')]);
    const before = performance.eventLoopUtilization();
    await Promise.all(Array.from({ length: 10 }, (_, i) => hasher.hash(`password ${i}`)));
    // On the event loop, each of the ten would block it for 70 ms or more.
    const { utilization } = performance.eventLoopUtilization(before);
    assert.ok(utilization < 0.5, `the loop was busy for ${utilization} of the time`);
  }));

test('an expensive imported hash delays no common one, even with a single thread', () =>
  withHasher({ threads: 1, longestWaitMs: 5000 }, async (hasher) => {
    await hasher.hash('warm');
    const done: string[] = [];
    const expensive = hasher.verify(`$2b$14$${'.'.repeat(53)}`, 'wrong').then(() => done.push('expensive'));
    await hasher.hash('common').then(() => done.push('common'));
    await expensive;
    assert.deepEqual(done, ['common', 'expensive']);
  }));

test('a task that would wait too long is refused', () =>
  withHasher({ threads: 1, longestWaitMs: 200 }, async (hasher) => {
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => hasher.hash('secret')));
    const refused = results.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 6, 'one runs, three of 80 ms wait');
    for (const { reason } of refused as PromiseRejectedResult[]) assert.equal(reason.id, 'PASSWORDS-BUSY');
  }));

test('there are no threads before the first task or after idle time', async () => {
  const workers: Worker[] = [];
  const noteWorker = (worker: Worker) => workers.push(worker);
  process.on('worker', noteWorker);
  try {
    await withHasher({ idleMs: 20 }, async (hasher) => {
      assert.equal(workers.length, 0);
      await hasher.hash('first');
      assert.equal(workers.length, 1);
      await once(workers[0] as Worker, 'exit');
      assert.match(await hasher.hash('second'), /^\$2b\$/);
      assert.equal(workers.length, 2);
    });
  } finally {
    process.off('worker', noteWorker);
  }
});

test('close waits for submitted tasks, and rejects later ones', async () => {
  const hasher = openHasher({ threads: 1, bcryptCost: 4 });
  const asked = ['a', 'b', 'c', 'd'].map((plain) => hasher.hash(plain));
  await Promise.all([hasher.close(), hasher.close()]);
  assert.equal((await Promise.all(asked)).length, 4);
  await assert.rejects(hasher.hash('late'), /The password hasher is closed\./);
  await assert.rejects(hasher.verifyNothing('late'), /The password hasher is closed\./);
});

test('its threads do not keep the process alive and print nothing', async () => {
  const script = new URL('./hash-once.ts', import.meta.url).pathname;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { timeout: 60_000 });
  assert.match(stdout, /^\$2b\$04\$[./A-Za-z0-9]{53}\n$/);
  assert.equal(stderr, '');
});
