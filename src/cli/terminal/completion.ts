/** What the command line has in common with a shell: its streams, and the completion of commands and files. */
import type { FallbackCompletionFunction } from 'yargs';

/**
 * What a command gets from the shell that starts it. Commands take it from their options, never from the process, so
 * that one process can run several commands at the same time. `process` itself is a shell.
 */
export interface Shell {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
  /** Set by a command that succeeds but has bad news, such as users that failed. */
  exitCode?: NodeJS.Process['exitCode'];
}

/**
 * Completes commands, options and their values as yargs does. Where a file belongs and nothing is typed yet it offers
 * nothing: without completions, the shell offers file names.
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

/** What yargs says about a wrong command line, in the words of the other messages. The keys are yargs' own texts. */
export const USAGE_TEXTS: Record<string, string> = Object.assign(
  {
    'Invalid values:': 'An option has a value that it cannot have.',
    'Argument: %s, Given: %s, Choices: %s': '--%s is %s; it must be one of %s.',
    'Not enough arguments following: %s': 'The option --%s needs a value.',
    'Arguments %s and %s are mutually exclusive': 'The options --%s and --%s exclude each other.',
    'Implications failed:': 'Other options are missing:',
    'Show help': 'show this help',
    'Show version number': 'show the version',
  },
  // yargs chooses one of two by a number.
  plural('Not enough non-option arguments: got %s, need at least %s', 'An argument is missing: %s given, %s needed.'),
  plural('Missing required argument: %s', 'The option --%s is missing.', 'These options are missing: %s.'),
  plural('Missing argument value: %s', 'The option --%s needs a value.', 'These options need a value: %s.'),
  plural('Unknown argument: %s', 'Unknown option or argument: %s', 'Unknown options or arguments: %s'),
);

function plural(key: string, one: string, other = one): Record<string, unknown> {
  return { [key]: { one, other } };
}
