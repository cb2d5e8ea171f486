/**
 * Encrypts values again with the current key, in small batches, while imports and logins use them.
 *
 * Guarantee: a value is replaced only if it is still the one that was read. Rows that somebody has locked are left out,
 * so nothing waits here, and no other transaction is ended by a deadlock with this one.
 * On crash: what was replaced is replaced; the next run finds the rest.
 */
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import type { RowKey, SealedTable } from './sealed-tables.ts';

/** Few, as an invalid entry may have a megabyte. */
const BATCH = 50;

export interface Reencrypted {
  replaced: number;
  /** Values that no given key decrypts. All others were changed, removed or locked meanwhile. */
  unreadable: number;
}

export async function reencrypt(
  db: Db,
  secrets: Pick<Secrets, 'seal' | 'unseal'>,
  { table, column, keys }: { table: SealedTable; column: string; keys: RowKey[] },
): Promise<Reencrypted> {
  const total = { replaced: 0, unreadable: 0 };
  for (let at = 0; at < keys.length; at += BATCH) {
    const { replaced, unreadable } = await replaceBatch(db, secrets, table, column, keys.slice(at, at + BATCH));
    total.replaced += replaced;
    total.unreadable += unreadable;
  }
  return total;
}

async function replaceBatch(
  db: Db,
  secrets: Pick<Secrets, 'seal' | 'unseal'>,
  table: SealedTable,
  column: string,
  keys: RowKey[],
): Promise<Reencrypted> {
  const purposeOf = table.columns[column] as (key: RowKey) => string;
  const { rows } = await db.query<{ position: number; sealed: string }>(
    `select v.position::int, t.${column} as sealed from ${table.name} t join ${given(table, ['position'])} on ${same(table)}
     where t.${column} is not null`,
    [...columnsOf(table, keys), keys.map((_, i) => String(i))],
  );
  const found = rows.flatMap(({ position, sealed }) => {
    const key = keys[position] as RowKey;
    const fresh = sealedAgain(secrets, sealed, purposeOf(key));
    return fresh === undefined ? [] : [{ key, sealed, fresh }];
  });
  const { rowCount } = await db.query(replaceText(table, column), [
    ...columnsOf(
      table,
      found.map(({ key }) => key),
    ),
    found.map(({ sealed }) => sealed),
    found.map(({ fresh }) => fresh),
  ]);
  return { replaced: rowCount ?? 0, unreadable: rows.length - found.length };
}

function sealedAgain(secrets: Pick<Secrets, 'seal' | 'unseal'>, sealed: string, purpose: string): string | undefined {
  let plain: string;
  try {
    plain = secrets.unseal(sealed, purpose);
  } catch {
    return undefined; // counted as unreadable
  }
  return secrets.seal(plain, purpose);
}

function replaceText(table: SealedTable, column: string): string {
  const free = `select ${table.key.map(([name]) => `t.${name}`).join(', ')}, v.fresh
    from ${table.name} t join ${given(table, ['old', 'fresh'])} on ${same(table)} and t.${column} = v.old
    for update of t skip locked`;
  return `with v as materialized (${free})
    update ${table.name} t set ${column} = v.fresh from v where ${same(table)}`;
}

/** The given keys and more columns of text, as `v`. */
function given({ key }: SealedTable, more: string[]): string {
  const names = [...key.map(([name]) => name), ...more];
  const arrays = [...key.map(([, type]) => type), ...more.map(() => 'text')].map((type, i) => `$${i + 1}::${type}[]`);
  return `unnest(${arrays.join(', ')}) as v (${names.join(', ')})`;
}

function same({ key }: SealedTable): string {
  return key.map(([name]) => `t.${name} = v.${name}`).join(' and ');
}

function columnsOf({ key }: SealedTable, keys: RowKey[]): string[][] {
  return key.map((_, i) => keys.map((each) => each[i] as string));
}
