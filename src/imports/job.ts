/** A job of the queue `imports`: one for each item of an import. */

/** All that a job of the queue `imports` holds: which item of which import. */
export interface ItemPointer {
  i: string;
  o: number;
  /** Of an import that is not written in the usual way. */
  m?: Special;
}

/** How the items of an import with options of its own are settled: by a writer of their own each. */
export type Special = 'skip' | 'update' | 'dry';
