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
import type { Shell } from './terminal/shell.ts';

/** Runs the command named by the arguments and returns the exit code. */
export async function endWith(parser: Argv, shell: Shell, json: boolean): Promise<ExitCode> {
  for (const stream of [shell.stdout, shell.stderr]) stream.on('error', exitOnClosedPipe);
  try {
    await parser.parseAsync();
    return (shell.exitCode as ExitCode | undefined) ?? EXIT.ok;
  } catch (error) {
    exitOnClosedPipe(error as Error);
    const failure = asFailure(error);
    shell.stderr.write(json ? `${JSON.stringify(asJson(failure))}\n` : asText(failure));
    if (isDebugging(shell.env)) shell.stderr.write(`${(error as Error).stack}\n`);
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
