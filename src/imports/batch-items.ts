/**
 * How a statement finds the items of a batch by their ordinals: the item is `i`, the import is `$1`. Holds no state.
 *
 * `i.ordinal = any(…)` alone will not do. PostgreSQL before 17 may use it as a filter, and does so when it made the plan while
 * the table was small: each batch would then read its whole import. A range is always a condition of the index. Ordinals of a
 * batch lie close together, except where few of many items are tried again.
 */

/** @param ordinals the parameter that holds them, in any order */
export function withinBatch(ordinals: string): string {
  const end = (which: 'min' | 'max') => `(select ${which}(o) from unnest(${ordinals}::int[]) as o)`;
  return `i.import_id = $1 and i.ordinal between ${end('min')} and ${end('max')}`;
}

/** A `from` item: those of the ordinals that the import has. @param ordinals each once, or their items come twice */
export function itemsOfBatch(ordinals: string): string {
  return `unnest(${ordinals}::int[]) as wanted (ordinal)
    join import_items i on i.ordinal = wanted.ordinal and ${withinBatch(ordinals)}`;
}
