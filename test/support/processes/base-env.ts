/** An option of Node.js: spares collections of garbage while a process loads its code. */
export const NEW_SPACE = '--min-semi-space-size=16';

/** What the environment of every process under test has, in addition to its settings. */
export function baseEnv(): Record<string, string | undefined> {
  const { PATH, NODE_COMPILE_CACHE, TEST_NODE_OPTIONS: NODE_OPTIONS } = process.env;
  // Most processes under test live for seconds.
  return { PATH, NODE_COMPILE_CACHE, WARM_UP: 'false', ...(NODE_OPTIONS ? { NODE_OPTIONS } : {}) };
}
