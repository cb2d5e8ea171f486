/**
 * Preloaded by every process of tests: ends it when its tests are over.
 *
 * Node.js 24.21 closes all handles of a process that ends by itself, and rarely never finishes with it (seen twice after
 * test/start/schema.test.ts: CleanupHandles, at full speed). `process.exit` leaves this step out.
 */
process.once('beforeExit', () => {
  // The last listener: the test runner sets the exit code in one of its own.
  process.on('exit', () => process.exit());
});
