/**
 * The log: JSON lines on stdout.
 *
 * Guarantee: of an error only its type, message, SQLSTATE and stack are written. The objects that drivers hang on their
 * errors (connections, parameters, rows) may hold passwords and personal data and never get here. A fault that repeats is
 * written once in some seconds, with how often it came (repeats.ts).
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { limitRepeats } from './repeats.ts';

export function openLogger(options: { level: string; name: string }, destination?: DestinationStream): Logger {
  return pino(
    {
      level: options.level,
      name: options.name,
      serializers: { err: describeError },
      base: { pid: process.pid },
      hooks: { logMethod: limitRepeats() },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  const code = (error as { code?: unknown }).code;
  return { type: name, message, ...(typeof code === 'string' ? { code } : {}), stack };
}
