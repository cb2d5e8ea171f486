/**
 * How the command line ends: whatever a command throws becomes a message, what to do next, and an exit code.
 *
 * Guarantee: an error goes to standard error, with `--json` as one line `{"error":{"message","advice","id","exitCode"}}`;
 * standard output has results alone. A reader who has seen enough (`| head -1`) is no error.
 */
import type { Argv } from 'yargs';
import { UsageError } from '../sources/source.ts';
import { isDebugging } from './service/settings.ts';
import { EXIT, type ExitCode, Failure } from './terminal/failure.ts';
import { printableLines } from './terminal/output.ts';

let asked: ExitCode = EXIT.ok;

/** For commands that do what they were asked and yet have bad news: the code to end with. */
export function exitWith(code: ExitCode): void {
  asked = code;
}

/** Runs the command that the arguments name; answers the exit code. */
export async function endWith(parser: Argv, json: boolean): Promise<ExitCode> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', leaveWhenNobodyReads);
  try {
    await parser.parseAsync();
    return asked;
  } catch (error) {
    leaveWhenNobodyReads(error as Error);
    const failure = asFailure(error);
    process.stderr.write(json ? `${JSON.stringify(asJson(failure))}\n` : asText(failure));
    if (isDebugging()) process.stderr.write(`${(error as Error).stack}\n`);
    return failure.exitCode;
  }
}

function leaveWhenNobodyReads(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, name } = error as Error;
  if (error instanceof UsageError) return new Failure(message, { exitCode: EXIT.usage });
  return new Failure(`Something went wrong that should not: ${name}: ${message}`, {
    advice: 'MUSTER_DEBUG=1 shows where it happened.',
  });
}

function asJson({ message, advice, id, exitCode }: Failure): unknown {
  return { error: { message, advice, id, exitCode } };
}

function asText({ message, advice, id }: Failure): string {
  const [first = '', ...more] = printableLines(message).split('\n');
  const lines = [`muster: ${first}${id ? ` (${id})` : ''}`, ...more];
  if (advice) lines.push(`  ${printableLines(advice)}`);
  return `${lines.join('\n')}\n`;
}
