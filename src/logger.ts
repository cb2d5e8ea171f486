/**
 * The log: JSON lines on stdout.
 *
 * Guarantee: the log contains only the type, message, SQLSTATE and stack of an error. The objects that drivers attach
 * to their errors (connections, parameters, rows) may contain passwords and personal data; they are never logged. A
 * repeated error is logged once in several seconds, with the number of repeats (repeats.ts).
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
