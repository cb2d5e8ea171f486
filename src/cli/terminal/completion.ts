/** Completion in the shell: commands, options and their values come from yargs, files from the shell itself. */
import type { FallbackCompletionFunction } from 'yargs';

/**
 * Where a file is to stand and nothing is typed yet, options are not offered: with no answer of ours the shell completes
 * the names of files.
 * @param args of the command line, the last one being what is completed
 * @param takesFiles whether a command of this name does
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
