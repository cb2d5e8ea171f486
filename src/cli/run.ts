/**
 * `muster`: its commands, and how each one ends. A command is one file in `commands/`.
 *
 * Guarantee: the exit code is one of `terminal/failure.ts`. Errors go to standard error, as a sentence with advice or,
 * with `--json`, as one line `{"error":{"message","advice","id","exitCode"}}`; a stack trace only with MUSTER_DEBUG.
 * Standard output carries results only. A reader that closes the pipe early (`| head -1`) is not an error.
 */
import type { Argv } from 'yargs';
import yargs from 'yargs/yargs';
import { STDIN } from '../sources/read/file.ts';
import { UsageError } from '../sources/read/records.ts';
import { COMMANDS } from './commands.ts';
import { text } from './options.ts';
import { isDebugging, ownVersion } from './service/settings.ts';
import { completion, type Shell, USAGE_TEXTS } from './terminal/completion.ts';
import { EXIT, type ExitCode, Failure, wrongUsage } from './terminal/failure.ts';
import { jsonText, printable, printableLines } from './terminal/output.ts';

const WIDEST = 110;
/** Options for which `-` means standard output. */
const TO_STDOUT = new Set(['-o', '--output']);
/** Options before the command whose value is the next argument. */
const TAKE_VALUES = new Set(['--url', '--token-file']);
const SCRIPT = 'print a shell completion script: muster completion >> ~/.bashrc';

const OPTIONS = {
  url: { ...text('URL of the service (default: MUSTER_URL, then that of the last login)'), global: true },
  'token-file': { ...text('file that contains a token (default: MUSTER_TOKEN, then the login)'), global: true },
  json: { type: 'boolean', describe: 'print the result as JSON', global: true },
} as const;

/**
 * Runs the command that the arguments name, to its end. Help, the version and completions go to the output of the
 * process, as yargs prints them.
 * @param given the arguments after `muster`
 */
export async function run(given: readonly string[], shell: Shell): Promise<ExitCode> {
  const args = withStdin(given);
  const parser = parserOf(args, shell);
  if (args.length === 0) {
    parser.showHelp('error');
    return EXIT.usage;
  }
  return endWith(parser, shell, args.includes('--json'));
}

function parserOf(args: string[], shell: Shell): Argv {
  const parser = yargs(args)
    .scriptName('muster')
    // The same texts on every machine: people and scripts search for them.
    .locale('en')
    .updateStrings(USAGE_TEXTS)
    // Ids are strings, even ids that look like numbers.
    .parserConfiguration({ 'parse-numbers': false, 'parse-positional-numbers': false })
    .usage('$0 <command>\n\nImports users from another identity system and manages them.')
    .options(OPTIONS)
    .demandCommand(1, 'Specify a command.')
    .recommendCommands()
    .strict()
    .wrap(Math.min(WIDEST, shell.stdout.columns || WIDEST))
    .help()
    .alias('h', 'help')
    .version(ownVersion())
    .epilogue('Exit codes and examples: docs/cli.md')
    .exitProcess(false)
    .fail((message, error) => {
      throw message && !(error instanceof Failure) ? misused(message, args) : error;
    });
  // Handlers get the shell with their options, after these are checked: it is no option of the command line.
  parser.middleware((options) => void Object.assign(options, { shell }));
  for (const command of COMMANDS) parser.command(command);
  return parser.completion('completion', SCRIPT, completion(args, takesFiles)) as unknown as Argv;
}

/** As a file, `-` means standard input. The parser would drop it, taking it for an option without a name. */
function withStdin(args: readonly string[]): string[] {
  return args.map((arg, i) => (arg === '-' && !TO_STDOUT.has(args[i - 1] ?? '') ? STDIN : arg));
}

/** The command line is wrong: the message of yargs, and which help to read. */
function misused(message: string, args: readonly string[]): Failure {
  const named = args.find((arg, i) => !arg.startsWith('-') && !TAKE_VALUES.has(args[i - 1] ?? ''));
  const isCommand = usageOf(named) !== undefined;
  const about = isCommand ? `muster ${named} --help` : 'muster --help';
  const text = named && !isCommand ? `Unknown command "${named}". ${message}` : message;
  return wrongUsage(text, `\`${about}\` shows the usage.`);
}

/** The usage, such as `status [import]`; undefined when there is no such command. */
function usageOf(name: string | undefined): string | undefined {
  return COMMANDS.map(({ command }) => String(command)).find((usage) => usage.split(' ')[0] === name);
}

function takesFiles(name: string): boolean {
  return usageOf(name)?.includes('<files') ?? false;
}

/** Turns whatever the command throws into a message, advice and an exit code. */
async function endWith(parser: Argv, shell: Shell, json: boolean): Promise<ExitCode> {
  for (const stream of [shell.stdout, shell.stderr]) stream.on('error', exitOnClosedPipe);
  try {
    await parser.parseAsync();
    return (shell.exitCode as ExitCode | undefined) ?? EXIT.ok;
  } catch (error) {
    exitOnClosedPipe(error as Error);
    const failure = asFailure(error);
    shell.stderr.write(json ? `${jsonText(asJson(failure))}\n` : asText(failure));
    if (isDebugging(shell.env)) shell.stderr.write(`${printableLines(String((error as Error).stack))}\n`);
    return failure.exitCode;
  }
}

function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, name } = error as Error;
  if (error instanceof UsageError) return wrongUsage(message);
  return new Failure(`Unexpected error: ${name}: ${message}`, {
    advice: 'Set MUSTER_DEBUG=1 to see where it happened.',
  });
}

function asJson({ message, advice, id, exitCode }: Failure): unknown {
  return { error: { message, advice, id, exitCode } };
}

function asText({ message, advice, id }: Failure): string {
  const [first = '', ...more] = printableLines(message).split('\n');
  const lines = [`muster: ${first}${id ? ` (${printable(id)})` : ''}`, ...more];
  if (advice) lines.push(`  ${printableLines(advice)}`);
  return `${lines.join('\n')}\n`;
}
