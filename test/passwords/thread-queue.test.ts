/** The queue before the threads that hash: its order, its end, and tasks whose callers have gone. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openThreadQueue } from '../../src/passwords/hasher.ts';
import type { WaitOptions } from '../../src/platform/fair-queue.ts';

/** A queue whose tasks run until they are ended by name. */
function stage(atOnce: number, longestWaitMs = Number.POSITIVE_INFINITY) {
  const queue = openThreadQueue({ atOnce, longestWaitMs });
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    run(name: string, task: WaitOptions = {}): Promise<string> {
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      const work = () => {
        begun.push(name);
        return end.promise;
      };
      return queue.run('passwords', work, { cost: 100, ...task });
    },
    async end(name: string, error?: Error): Promise<void> {
      if (error) ends.get(name)?.reject(error);
      else ends.get(name)?.resolve(name);
      await setImmediate();
    },
  };
}

test('as many tasks run at once as there are threads, in their order', async () => {
  const { run, end, begun } = stage(2);
  const all = ['a', 'b', 'c', 'd'].map((name) => run(name));
  await setImmediate();
  assert.deepEqual(begun, ['a', 'b']);
  await end('b');
  assert.deepEqual(begun, ['a', 'b', 'c']);
  await Promise.all(['a', 'c', 'd'].map((name) => end(name)));
  assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd']);
});

test('a task that fails makes room for the next one', async () => {
  const { run, end, begun } = stage(1);
  const [first, second] = [run('a'), run('b')];
  const fails = assert.rejects(first, /it broke/);
  await end('a', new Error('it broke'));
  await fails;
  assert.deepEqual(begun, ['a', 'b']);
  await end('b');
  assert.equal(await second, 'b');
});

test('a task is refused when those in front would take too long, by their own durations', async () => {
  const { run, end } = stage(2, 500);
  const accepted = [run('a'), run('b'), run('expensive', { cost: 1000 })];
  await assert.rejects(run('late'), { id: 'PASSWORDS-BUSY', http: 503, retryAfterS: 5 });
  await end('a');
  accepted.push(run('c'));
  await Promise.all(['b', 'expensive', 'c'].map((name) => end(name)));
  assert.equal((await Promise.all(accepted)).length, 4);
});

test('a task whose caller goes while it waits is never run, and takes no room', async () => {
  const { run, end, begun } = stage(1, 500);
  const caller = new AbortController();
  const running = run('running', { signal: caller.signal });
  const dropped = run('dropped', { cost: 1000, signal: caller.signal });
  const gone = assert.rejects(dropped, /gone/);
  caller.abort(new Error('gone'));
  await gone;
  const next = run('next');
  await end('running');
  assert.equal(await running, 'running', 'a task that runs is not interrupted');
  await end('next');
  await next;
  assert.deepEqual(begun, ['running', 'next']);
  await assert.rejects(run('after', { signal: caller.signal }), /gone/);
});
