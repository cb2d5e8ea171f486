/**
 * Runs a command in a scope.
 *
 * Guarantee: everything that the command starts ends with it, also on Ctrl-C and when it fails.
 */
import { UsageError } from './options.ts';
import { openScope, type Scope } from './scope.ts';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs the command, then ends the process: with 0 if `run` returns true, 2 if the arguments are wrong, else 1.
 * @param run gets whether the process is ending, after which its errors mean nothing
 */
export async function runCommand(run: (scope: Scope, isEnding: () => boolean) => Promise<boolean>): Promise<void> {
  const scope = openScope();
  let ending = false;

  /** Ignores further signals, as npm sends Ctrl-C a second time. */
  function end(status: number): void {
    if (ending) return;
    ending = true;
    scope.close().then(
      () => process.exit(status),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  }

  for (const [signal, status] of Object.entries(SIGNALS)) process.on(signal, () => end(status));
  try {
    end((await run(scope, () => ending)) ? 0 : 1);
  } catch (error) {
    if (!ending) console.error(error instanceof UsageError ? error.message : error);
    end(error instanceof UsageError ? 2 : 1);
  }
}
