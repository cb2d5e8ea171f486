/**
 * Finds where arrays and objects end, and the commas between their elements, without parsing them.
 *
 * Guarantee: reads each byte once, however the text is split into chunks; holds no text. It recognises only strings and
 * nesting, because JSON.parse validates the text between two boundaries.
 */
import { BACKSLASH, QUOTE } from './json-window.ts';

/** 1: quote, 2: opening bracket, 3: closing bracket, 4: comma, 0: anything else. */
const CLASS = new Uint8Array(256);
CLASS[QUOTE] = 1;
CLASS['{'.charCodeAt(0)] = 2;
CLASS['['.charCodeAt(0)] = 2;
CLASS['}'.charCodeAt(0)] = 3;
CLASS[']'.charCodeAt(0)] = 3;
CLASS[','.charCodeAt(0)] = 4;

/** A scan of the elements of one array or object. */
export interface Scan {
  /** Where to continue in the buffer; may lie past its end when an escape is split between chunks. */
  position: number;
  /** Arrays and objects that are open inside it. */
  depth: number;
  inString: boolean;
  /** Position of the last comma between two elements, or -1. */
  lastComma: number;
  /** Position of the `]` or `}` that ends it, or -1. */
  end: number;
  /** The element after `lastComma` nests deeper than allowed; the scan is over. */
  tooDeep: boolean;
}

/** A scan that starts right after the opening bracket. */
export function startScan(position: number): Scan {
  return { position, depth: 0, inString: false, lastComma: -1, end: -1, tooDeep: false };
}

/** Moves the positions of the scan down by `moved`, as the bytes of the buffer have been. */
export function shift(scan: Scan, moved: number): void {
  scan.position -= moved;
  scan.lastComma -= moved;
}

/**
 * Advances `scan` to the end of the buffer, to the end of the array or object, or to a value nested too deep.
 * @param room how deep its elements may nest
 */
export function advance(scan: Scan, buffer: Uint8Array, room: number): void {
  const length = buffer.length;
  let { position: i, depth, inString, lastComma } = scan;
  while (i < length) {
    // Most bytes are in strings, so they have a loop of their own.
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

/**
 * Whether a JSON document holds more than `most` values, nested ones included. An empty array or object counts as two.
 */
export function holdsMoreValues(bytes: Uint8Array, most: number): boolean {
  let count = 1;
  for (let i = 0; i < bytes.length; i++) {
    const kind = CLASS[bytes[i] as number];
    if (kind === 1) {
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if ((kind === 2 || kind === 4) && ++count > most) return true;
  }
  return count > most;
}

/** Whether a JSON document nests more than `most` arrays and objects. */
export function textNestsDeeper(bytes: Uint8Array, most: number): boolean {
  const scan = startScan(0);
  advance(scan, bytes, most);
  return scan.tooDeep;
}

/** Whether a parsed value nests more than `room` containers, itself included. For a repeated key, the last counts. */
export function nestsDeeper(value: unknown, room: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (room === 0) return true;
  for (const key in value) if (nestsDeeper((value as Record<string, unknown>)[key], room - 1)) return true;
  return false;
}
