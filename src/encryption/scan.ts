/**
 * Reads which key encrypted the values of a table, page by page along the primary key: no statement takes long, however
 * large the table is, and no value leaves the database.
 */
import type { Db } from '../db/pool.ts';
import { keyIdOf } from '../secrets.ts';
import type { RowKey, SealedTable } from './sealed-tables.ts';

const PAGE = 5000;

/** A value; `keyId` is undefined if it was encrypted while there was one key. */
export interface SealedValue {
  key: RowKey;
  column: string;
  keyId: string | undefined;
}

/** Yields the encrypted values of each page. */
export async function* scan(db: Db, table: SealedTable): AsyncGenerator<SealedValue[]> {
  const columns = Object.keys(table.columns);
  let after: RowKey | undefined;
  for (;;) {
    const { rows } = await db.query<{ key: RowKey; heads: (string | null)[] }>(pageOf(table, columns, after), after);
    yield rows.flatMap(({ key, heads }) => heads.flatMap((head, i) => sealedValue(key, columns[i] as string, head)));
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.key;
  }
}

function sealedValue(key: RowKey, column: string, head: string | null): SealedValue[] {
  return head === null ? [] : [{ key, column, keyId: keyIdOf(head) }];
}

function pageOf({ name, key }: SealedTable, columns: string[], after: RowKey | undefined): string {
  const names = key.map(([column]) => column);
  const bounds = key.map(([, type], i) => `$${i + 1}::${type}`);
  return `select array[${names.map((column) => `${column}::text`).join(', ')}] as key,
      array[${columns.map((column) => `left(${column}, 9)`).join(', ')}] as heads
    from ${name} ${after ? `where (${names.join(', ')}) > (${bounds.join(', ')})` : ''}
    order by ${names.join(', ')} limit ${PAGE}`;
}
