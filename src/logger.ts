/**
 * The log: JSON lines on stdout.
 *
 * Guarantee: the log contains only the type, message, SQLSTATE and stack of an error. The objects that drivers attach
 * to their errors (connections, parameters, rows) may contain passwords and personal data; they are never logged. A
 * repeated error is logged once in several seconds, with the number of repeats (repeats.ts). A line that is written in a
 * span names it (`trace_id`, `span_id`).
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { limitRepeats } from './repeats.ts';
import { traceIds } from './spans.ts';

export function openLogger(options: { level: string; name: string }, destination?: DestinationStream): Logger {
  return pino(
    {
      level: options.level,
      name: options.name,
      serializers: { err: (error: unknown) => (error instanceof Error ? loggable(error) : error) },
      base: { pid: process.pid },
      mixin: () => traceIds() ?? {},
      hooks: { logMethod: limitRepeats() },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
}

/** The part of `error` that may be logged. */
export function loggable(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: `thrown: ${typeof error}` };
  const { code, constraint, table } = error as Error & { code?: string; constraint?: string; table?: string };
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(code ? { code } : {}),
    ...(constraint ? { constraint } : {}),
    ...(table ? { table } : {}),
    ...(error.cause ? { cause: loggable(error.cause) } : {}),
  };
}
