/**
 * SQL fragments that select the items of a batch by their ordinals. The item is `i`, the import is `$1`.
 *
 * `i.ordinal = any(…)` alone is not enough. PostgreSQL before 17 may use it as a filter, and does when the plan was
 * made while the table was small: each batch would then read the whole import. A range is always an index condition.
 * The ordinals of a batch are close together, except when a few of many items are retried.
 */

/** The condition for the range of the ordinals. @param ordinals the SQL parameter that holds them, in any order */
export function withinBatch(ordinals: string): string {
  const end = (which: 'min' | 'max') => `(select ${which}(o) from unnest(${ordinals}::int[]) as o)`;
  return between(end('min'), end('max'));
}

/** The same for ordinals in ascending order, which takes the ends of the parameter without reading the rest. */
export function withinSorted(ordinals: string): string {
  return between(`(${ordinals}::int[])[1]`, `(${ordinals}::int[])[cardinality(${ordinals}::int[])]`);
}

function between(first: string, last: string): string {
  return `i.import_id = $1 and i.ordinal between ${first} and ${last}`;
}

/**
 * A `from` item: the import's items with these ordinals.
 * @param ordinals each once, or its item is returned twice
 * @param range `withinSorted(ordinals)` if they are in ascending order
 */
export function itemsOfBatch(ordinals: string, range = withinBatch(ordinals)): string {
  return `unnest(${ordinals}::int[]) as wanted (ordinal)
    join import_items i on i.ordinal = wanted.ordinal and ${range}`;
}
