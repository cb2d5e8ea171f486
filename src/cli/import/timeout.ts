/** Checks `--timeout` before a file is read; the service has the last word about its size. */
import { EXIT, Failure } from '../terminal/failure.ts';

/** A Go duration, as the service takes it: `30m`, `1h30m`, `1.5h`. */
const DURATION =
  /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*$/;

/** @throws Failure (usage) */
export function requireTimeout(timeout: string): void {
  if (DURATION.test(timeout) && /[1-9]/.test(timeout)) return;
  throw new Failure(`--timeout must be a duration of more than 0; it is "${timeout}".`, {
    exitCode: EXIT.usage,
    advice: 'For example, use --timeout 30m or --timeout 1h30m.',
  });
}
