/**
 * The options of V8 for the processes of `npm start`. package.json, docker-compose.yml and the Dockerfile repeat them;
 * a test keeps the copies equal.
 */

/**
 * A long upload makes much garbage and keeps little. By default V8's heap grows with the length of the upload. With
 * these options, and one arena of malloc (`childEnv` in src/platform/config.ts), a million users take at most a fifth
 * more memory than a hundred thousand, at the same speed.
 */
export const API_OPTIONS: readonly string[] = ['--max-semi-space-size=4', '--heap-growing-percent=10'];

/**
 * Jobs live for some tenths of a second: too long for a small young generation, which moves them to the old one, where
 * they are garbage soon after. A larger young and a tighter old generation take 230 MB instead of 350 over a million
 * users, for 3 µs more a user.
 */
export const WORKER_OPTIONS: readonly string[] = ['--max-semi-space-size=32', '--heap-growing-percent=60'];
