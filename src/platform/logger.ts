/**
 * The log: JSON lines on stdout.
 *
 * Guarantee: the log contains only the type, message, SQLSTATE and stack of an error. The objects that drivers attach
 * to their errors (connections, parameters, rows) may contain passwords and personal data; they are never logged. A line
 * that cannot be made or written is lost, and nothing else with it. A repeated warning is logged once in several
 * seconds, with the number of repeats. A line that is written in a span names it (`trace_id`, `span_id`).
 */
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino';
import { safely, traceIds } from './telemetry.ts';

/** The group of warnings for which there is no group of their own. */
const OTHERS = 'others';
/** Characters of an error that tell it from others; a store may quote whole values. */
const MOST_SAID = 2000;
/** Bytes of lines that are kept while they cannot be written; further ones are dropped. */
const MOST_KEPT = 1_000_000;
const ID = /[\da-f-]+/gi;

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
    destination ?? stdout(),
  );
}

/** A disk that is full, or a reader that is gone, costs lines of the log; without a listener it would end the process. */
function stdout(): DestinationStream {
  const lines = pino.destination({ fd: 1, sync: true, maxLength: MOST_KEPT });
  lines.on('error', () => {});
  return lines;
}

/**
 * Puts what packages write with `console.warn` into the log: the driver of Redis does so at each connection whose user
 * may not call INFO, and a log of JSON lines must not contain plain text.
 */
export function logWarnings(logger: Logger): void {
  console.warn = (...said: unknown[]) => logger.warn({ reason: said.map(String).join(' ') }, 'a package warns');
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

export interface RepeatOptions {
  /** Milliseconds between two lines of one group. */
  everyMs?: number;
  /** Number of different groups at a time. */
  most?: number;
}

type Fault = Record<string, unknown> & { err?: unknown; reason?: unknown };

/**
 * Keeps repeated errors from filling the log: a store that is down fails thousands of calls per second. A hook of one
 * logger; its child loggers share the counts.
 *
 * Guarantee: warnings with the same text and the same error are grouped. The first is written at once, then one every
 * `everyMs` with the number of those left out (`repeats`). At most `most` groups are kept at a time; further warnings
 * share one group. All other lines are written.
 */
export function limitRepeats({
  everyMs = 10_000,
  most = 50,
}: RepeatOptions = {}): NonNullable<NonNullable<pino.LoggerOptions['hooks']>['logMethod']> {
  const left = new Map<string, () => void>();

  function open(key: string, tell: (repeats: number) => void): void {
    let repeats = 0;
    left.set(key, () => {
      repeats++;
    });
    const timer = setInterval(() => {
      if (repeats > 0) tell(repeats);
      else {
        clearInterval(timer);
        left.delete(key);
      }
      repeats = 0;
    }, everyMs).unref();
  }

  return function write(this: Logger, args: Parameters<LogFn>, all: LogFn, level: number): void {
    const method: LogFn = function (this: Logger, ...line: unknown[]) {
      safely(() => all.apply(this, line as Parameters<LogFn>));
    };
    const fault = level === this.levels.values.warn ? faultOf(args) : undefined;
    const own = fault && keyOf(fault, args[1]);
    const key = !own || left.has(own) || left.size < most ? own : OTHERS;
    const leaveOut = key && left.get(key);
    if (leaveOut) {
      leaveOut();
      return;
    }
    if (key) open(key, (repeats) => method.apply(this, [{ ...fault, repeats }, args[1]]));
    method.apply(this, args);
  };
}

function faultOf([first]: unknown[]): Fault | undefined {
  if (typeof first !== 'object' || first === null) return undefined;
  return 'err' in first || 'reason' in first ? (first as Fault) : undefined;
}

/** The text of the line, and its error without ids and numbers. */
function keyOf({ err, reason, loop }: Fault, text: unknown): string {
  const { name, code, message } = (err ?? {}) as { name?: unknown; code?: unknown; message?: unknown };
  const said = `${reason}|${message}`.slice(0, MOST_SAID).replace(ID, (word) => (/\d/.test(word) ? '#' : word));
  return [text, loop, name, code, said].join('|');
}
