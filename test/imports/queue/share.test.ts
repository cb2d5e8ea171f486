/** A worker process takes its share of the queue, and one job at a time while its database is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchFault } from '../../../src/imports/run/batch-writer.ts';
import { openConcurrencyShare, shareOf } from '../../../workers/import-users.ts';

test('processes divide the share of a single one, down to a hundred each, within their limits', () => {
  const shares = (concurrency: number) => [0, 1, 2, 3, 4, 40].map((processes) => shareOf(concurrency, processes));
  assert.deepEqual(shares(400), [400, 400, 200, 134, 100, 100]);
  assert.deepEqual(shares(40), [40, 40, 40, 40, 40, 40]);
});

test('processes divide the jobs that wait for a thread, down to those that keep all threads busy', () => {
  const hashes: number[] = [];
  const share = openConcurrencyShare(400, (_jobs, count) => hashes.push(count), 4);
  for (const [processes, hashing] of [[1], [2], [2, 1], [8], [400]] as [number, number?][])
    share.among(processes, hashing);
  assert.deepEqual(hashes, [400, 200, 400, 50, 4]);
});

test('a process that cannot write takes one job at a time until a batch reaches the database again', async () => {
  const limits: number[] = [];
  const share = openConcurrencyShare(400, (jobs) => limits.push(jobs));
  let next: () => Promise<number[]> = async () => [];
  const store = share.watch({ write: () => next(), poison: async () => {} });
  const write = () => store.write('1', [0]).catch(() => {});
  const fault = (kind: BatchFault['kind']) => () => Promise.reject(new BatchFault(kind, undefined));

  share.among(2);
  await write();
  next = fault('data');
  await write();
  assert.deepEqual(limits, [200], 'the database answers');
  next = fault('retry');
  await write();
  await write();
  share.among(4);
  assert.deepEqual(limits, [200, 1, 1]);
  next = fault('not-running');
  await write();
  assert.deepEqual(limits, [200, 1, 1, 100]);
});
