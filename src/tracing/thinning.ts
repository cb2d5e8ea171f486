/**
 * Which spans of an import are recorded. A million users make thousands of batches and up to a million mails, and
 * collectors and people cannot read a trace of that size.
 */

/** As many spans of one name are all recorded, and as many more each time that their number doubles. */
const FIRST = 200;

/** @param n the number of the span among those of its name, from 1. @returns 1 if it and its neighbours are all recorded, 4 if one in four is; undefined if it is not recorded */
export function recordedOneIn(n: number): number | undefined {
  const each = n < 2 * FIRST ? 1 : 2 ** Math.floor(Math.log2(n / FIRST));
  return n % each === 0 ? each : undefined;
}
