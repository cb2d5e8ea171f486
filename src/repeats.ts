/**
 * Keeps repeated errors from filling the log: a store that is down fails thousands of calls per second.
 *
 * Guarantee: warnings with the same text and the same error are grouped. The first is written at once, then one every
 * `everyMs` with the number of those left out (`repeats`). At most `most` groups are kept at a time; further warnings
 * share one group. All other lines are written. On crash: the counts since the last line are lost.
 */
import type { LogFn, Logger, pino } from 'pino';

export interface RepeatOptions {
  /** Milliseconds between two lines of one group. */
  everyMs?: number;
  /** Number of different groups at a time. */
  most?: number;
}

const OTHERS = 'others';
/** Characters of an error that tell it from others; a store may quote whole values. */
const MOST_SAID = 2000;
const ID = /[\da-f-]+/gi;

/** A hook of one logger; its child loggers share the counts. */
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

  return function write(this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
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

type Fault = Record<string, unknown> & { err?: unknown; reason?: unknown };

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
