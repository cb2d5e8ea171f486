/** What the peers of the bench share: how users are sent, counted and waited for. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Skipped } from '../../bench/bench.ts';
import { answers, expectCount, fetchedOrSkip, inGroups, untilReady } from '../../bench/peers/peer.ts';
import { openScope } from '../../bench/scope.ts';
import { startKept } from '../../bench/testbed/stores.ts';

test('users are sent in groups, each once, and never more groups at a time than allowed', async () => {
  const sent: number[][] = [];
  let [running, most] = [0, 0];
  await inGroups(7, { size: 3, limit: 2 }, async (numbers) => {
    most = Math.max(most, ++running);
    sent.push(numbers);
    await new Promise(setImmediate);
    running--;
  });
  assert.deepEqual(sent, [[0, 1, 2], [3, 4, 5], [6]]);
  assert.equal(most, 2);
});

test('a peer that lacks users fails the bench', () => {
  expectCount('users', 3, 3);
  assert.throws(() => expectCount('users', 2, 3), /^Error: 2 users are there; 3 were sent\.$/);
});

test('a peer that no registry brings is skipped, with the first line of the reason', async () => {
  const scope = openScope();
  const refused = fetchedOrSkip(scope, 'Keycloak', () => Promise.reject(new Error('mvn failed\nat length')));
  await assert.rejects(refused, (error) => error instanceof Skipped && /^Keycloak .*: mvn failed$/.test(error.message));
  await scope.close();
});

test('an installation ends with the run', async () => {
  const scope = openScope();
  const ended = fetchedOrSkip(scope, 'Keycloak', async (signal) => {
    await scope.close();
    signal.throwIfAborted();
  });
  await assert.rejects(ended, Skipped);
});

test('a server that ends before it is ready fails the bench at once, with what it wrote', async () => {
  const scope = openScope();
  const server = await startKept(scope, 'TERM', ['/bin/sh', '-c', 'echo no such setting; exit 3']);
  const ready = untilReady('The server', server, () => answers('http://127.0.0.1:1'));
  await assert.rejects(ready, /^Error: The server ended early:\nno such setting$/m);
  await scope.close();
});
