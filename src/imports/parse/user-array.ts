/**
 * Finds where the entries of `humanUsers` end, in bytes, so that whole runs of entries go to the engine's own JSON.parse.
 *
 * Guarantee: looks at each byte once, over any split into chunks; holds no text of its own. What lies between two
 * boundaries is judged by JSON.parse, so this scanner only has to know strings and nesting.
 */
import { MAX_DEPTH } from './parse-error.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1: quote, 2: opens, 3: closes, 4: comma, 0: all else. */
const CLASS = new Uint8Array(256);
CLASS[QUOTE] = 1;
CLASS['{'.charCodeAt(0)] = 2;
CLASS['['.charCodeAt(0)] = 2;
CLASS['}'.charCodeAt(0)] = 3;
CLASS[']'.charCodeAt(0)] = 3;
CLASS[','.charCodeAt(0)] = 4;

export interface Scan {
  /** Where to go on in the buffer; may lie past its end when an escape was cut. */
  position: number;
  /** Containers open inside the array. */
  depth: number;
  inString: boolean;
  /** Position of the last comma between two entries, or -1. */
  lastComma: number;
  /** Position of the `]` that ends the array, or -1. */
  end: number;
  /** The nesting passed 64 levels in the entry after `lastComma`; the scan is over. */
  tooDeep: boolean;
}

/** A scan that starts right after the array's `[`. */
export function startScan(position: number): Scan {
  return { position, depth: 0, inString: false, lastComma: -1, end: -1, tooDeep: false };
}

/**
 * Moves `scan` on to the end of the buffer, of the array, or of what may be nested, whichever comes first.
 * @param outer containers open around and including the array
 */
export function advance(scan: Scan, buffer: Uint8Array, outer: number): void {
  const length = buffer.length;
  const room = MAX_DEPTH - outer;
  let { position: i, depth, inString, lastComma } = scan;
  while (i < length) {
    // Most bytes are in strings: a loop of their own for them.
    while (inString && i < length) {
      const c = buffer[i++] as number;
      if (c === QUOTE) inString = false;
      else if (c === BACKSLASH) i++;
    }
    if (i >= length) break;
    switch (CLASS[buffer[i] as number]) {
      case 1:
        inString = true;
        break;
      case 2:
        if (++depth > room) {
          scan.lastComma = lastComma;
          scan.tooDeep = true;
          return;
        }
        break;
      case 3:
        if (depth === 0) {
          scan.position = i + 1;
          scan.depth = 0;
          scan.lastComma = lastComma;
          scan.end = i;
          return;
        }
        depth--;
        break;
      case 4:
        if (depth === 0) lastComma = i;
        break;
    }
    i++;
  }
  scan.position = i;
  scan.depth = depth;
  scan.inString = inString;
  scan.lastComma = lastComma;
}

/** Whether more than `room` containers lie within one another in a value, it included; of a name that comes twice the last one's. */
export function nestsDeeper(value: unknown, room: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (room === 0) return true;
  for (const key in value) if (nestsDeeper((value as Record<string, unknown>)[key], room - 1)) return true;
  return false;
}
