/** Shell completion: commands, options and their values come from yargs, file names from the shell itself. */
import type { FallbackCompletionFunction } from 'yargs';

/**
 * Offers no options where a file belongs and nothing is typed yet: without completions, the shell offers file names.
 * @param args of the command line; the last one is being completed
 * @param takesFiles whether the command with this name takes files
 */
export function completion(
  args: readonly string[],
  takesFiles: (command: string) => boolean,
): FallbackCompletionFunction {
  return (current, argv: { _: unknown[] }, useDefault, done) => {
    const command = String(argv._[1] ?? '');
    const isValue = args.at(-2)?.startsWith('-') ?? false;
    if (current === '' && !isValue && takesFiles(command)) done([]);
    else useDefault();
  };
}
