/** The jobs of the queue `imports`: one for each item of an import. */

/** The data of a job: `i` is the import id, `o` the item's ordinal. The user's data stays in the database. */
export interface ItemPointer {
  i: string;
  o: number;
  /** The writer to use; absent for a default import. */
  m?: Special;
  /** The item is the only one of its import: nothing else will come that it could share a statement with. */
  only?: true;
}

/** Imports that have their own batch writer: `onExisting=skip`, `onExisting=update`, and dry runs. */
export type Special = 'skip' | 'update' | 'dry';
