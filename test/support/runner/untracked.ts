/**
 * Preloaded by every process of tests: ends the tracking of promises when all tests of the process are known.
 *
 * Node's test runner follows every promise from the test that made it, which takes a fifth of the processor time of tests.
 * It needs that to nest what is declared, and to tell whose an uncaught error is. Without it, such an error fails the file
 * instead of the test.
 */
import hooks, { type AsyncHook } from 'node:async_hooks';
import { before } from 'node:test';
import { isMainThread } from 'node:worker_threads';

const { createHook } = hooks;
let tracking: AsyncHook | undefined;

// A preload runs in the threads of the process too, which have no tests.
if (isMainThread) {
  hooks.createHook = (callbacks) => {
    tracking = createHook(callbacks);
    return tracking;
  };
  // The first call prepares the runner. Hooks run when all files are loaded.
  before(() => void tracking?.disable());
  hooks.createHook = createHook;
}
