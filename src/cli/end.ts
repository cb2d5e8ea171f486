/**
 * How the command line ends: turns whatever a command throws into a message, advice and an exit code.
 *
 * Guarantee: errors go to standard error, with `--json` as one line `{"error":{"message","advice","id","exitCode"}}`;
 * standard output carries results only. A reader that closes the pipe early (`| head -1`) is not an error.
 */
import type { Argv } from 'yargs';
import { UsageError } from '../sources/source.ts';
import { isDebugging } from './service/settings.ts';
import { EXIT, type ExitCode, Failure } from './terminal/failure.ts';
import { printableLines } from './terminal/output.ts';

let requested: ExitCode = EXIT.ok;

/** Sets the exit code of a command that succeeds but has bad news, such as users that failed. */
export function exitWith(code: ExitCode): void {
  requested = code;
}

/** Runs the command named by the arguments and returns the exit code. */
export async function endWith(parser: Argv, json: boolean): Promise<ExitCode> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', exitOnClosedPipe);
  try {
    await parser.parseAsync();
    return requested;
  } catch (error) {
    exitOnClosedPipe(error as Error);
    const failure = asFailure(error);
    process.stderr.write(json ? `${JSON.stringify(asJson(failure))}\n` : asText(failure));
    if (isDebugging()) process.stderr.write(`${(error as Error).stack}\n`);
    return failure.exitCode;
  }
}

function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, name } = error as Error;
  if (error instanceof UsageError) return new Failure(message, { exitCode: EXIT.usage });
  return new Failure(`Unexpected error: ${name}: ${message}`, {
    advice: 'Set MUSTER_DEBUG=1 to see where it happened.',
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
