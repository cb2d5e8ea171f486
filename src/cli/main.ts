/**
 * `muster`: which commands there are, and how each ends. A command is one file of `commands/`.
 *
 * Guarantee: exits with a code of `terminal/failure.ts`; an error is a sentence and what to do next, never a stack, unless
 * MUSTER_DEBUG is set.
 */
import { readFileSync } from 'node:fs';
import { hideBin } from 'yargs/helpers';
import yargs from 'yargs/yargs';
import { STDIN } from '../sources/read/file.ts';
import { COMMANDS } from './commands.ts';
import { endWith } from './end.ts';
import { completion } from './terminal/completion.ts';
import { EXIT, Failure } from './terminal/failure.ts';

const WIDEST = 110;
/** Options whose `-` is standard output. */
const TO_STDOUT = new Set(['-o', '--output']);
const SCRIPT = 'print a script for shell completion: muster completion >> ~/.bashrc';

process.exitCode = await run(withStdin(hideBin(process.argv)));

async function run(args: string[]): Promise<number> {
  const parser = yargs(args)
    .scriptName('muster')
    // The same words wherever it runs: scripts and people look them up.
    .locale('en')
    // Ids are texts, also those that look like numbers.
    .parserConfiguration({ 'parse-numbers': false, 'parse-positional-numbers': false })
    .usage('$0 <command>\n\nMoves users in from another identity system, and looks after them.')
    .options({
      url: {
        type: 'string',
        describe: 'address of the service (MUSTER_URL, else that of the last login)',
        global: true,
        requiresArg: true,
      },
      'token-file': {
        type: 'string',
        describe: 'file that holds a token (else MUSTER_TOKEN, else the login)',
        global: true,
        requiresArg: true,
      },
      json: { type: 'boolean', describe: 'print the result as JSON', global: true },
    })
    .demandCommand(1, 'Say what to do.')
    .recommendCommands()
    .strict()
    .wrap(Math.min(WIDEST, process.stdout.columns || WIDEST))
    .help()
    .alias('h', 'help')
    .version(version())
    .epilogue('Exit codes and examples: docs/cli.md')
    .exitProcess(false)
    .fail((message, error) => {
      throw message && !(error instanceof Failure) ? misused(message, args) : error;
    });
  for (const command of COMMANDS) parser.command(command);
  parser.completion('completion', SCRIPT, completion(args, takesFiles));
  if (args.length === 0) {
    parser.showHelp('error');
    return EXIT.usage;
  }
  return endWith(parser, args.includes('--json'));
}

/** Among the files `-` is standard input; the parser would lose it, as it takes it for an option without a name. */
function withStdin(args: string[]): string[] {
  return args.map((arg, i) => (arg === '-' && !TO_STDOUT.has(args[i - 1] ?? '') ? STDIN : arg));
}

/** The command line is wrong: what yargs says of it, and where to look. */
function misused(message: string, args: readonly string[]): Failure {
  const named = args.find((arg) => !arg.startsWith('-'));
  const isCommand = usageOf(named) !== undefined;
  const about = isCommand ? `muster ${named} --help` : 'muster --help';
  const text = named && !isCommand ? `"${named}" is no command. ${message}` : message;
  return new Failure(text, { exitCode: EXIT.usage, advice: `\`${about}\` shows how it is used.` });
}

/** Such as `status [import]`; undefined when there is no such command. */
function usageOf(name: string | undefined): string | undefined {
  return COMMANDS.map(({ command }) => String(command)).find((usage) => usage.split(' ')[0] === name);
}

function takesFiles(name: string): boolean {
  return usageOf(name)?.includes('<files') ?? false;
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
