/**
 * Replaces the encryption key: encrypts every stored value with the current key, and says which keys are still needed.
 *
 * Guarantee: a key is given up only after a pass that found no value of it, begun when no transaction that could still
 * store one was left. Any number of runs at once do no harm.
 * On crash: run it again; it continues with the values that are left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import { reencrypt } from './reencrypt.ts';
import { scan } from './scan.ts';
import { SEALED_TABLES } from './sealed-tables.ts';

export interface KeyUse {
  /** The key that encrypts. */
  current: string;
  /** Values by key id; under `none` those that were encrypted while there was one key, if there are several now. */
  values: Record<string, number>;
  /** Codes that may have been sent with an earlier key, and when the last of them expires. */
  codes: { count: number; until: Date | null };
  /** Whether only the current key is needed. */
  isDone: boolean;
}

export type Reencrypter = Pick<Secrets, 'keyIds' | 'seal' | 'unseal'>;

const PAUSE_MS = 500;

/** Counts the values of each key. Changes nothing. */
export async function keyUse(db: Db, { keyIds }: Reencrypter): Promise<KeyUse> {
  const [current = ''] = keyIds;
  const unnamed = keyIds.length > 1 ? 'none' : current;
  const values: Record<string, number> = {};
  for (const table of SEALED_TABLES) {
    for await (const page of scan(db, table)) {
      for (const { keyId = unnamed } of page) values[keyId] = (values[keyId] ?? 0) + 1;
    }
  }
  const codes = await earlierCodes(db, current);
  const isDone = Object.keys(values).every((id) => id === current) && codes.count === 0;
  return { current, values, codes, isDone };
}

/**
 * Encrypts all values with the current key. Values that are locked are tried again until `signal` aborts; values that
 * no given key decrypts are left as they are, and count as needed.
 * @param progress called with the number of values replaced so far
 */
export async function rotateKeys(
  db: Db,
  secrets: Reencrypter,
  { signal, progress = () => {} }: { signal?: AbortSignal; progress?: (replaced: number) => void } = {},
): Promise<KeyUse> {
  // A single key is that of every value.
  if (secrets.keyIds.length === 1) return keyUse(db, secrets);
  await beginRotation(db, secrets.keyIds[0] as string);
  for (let replaced = 0, left = 1, unreadable = 0; left > unreadable; ) {
    signal?.throwIfAborted();
    left = 0;
    unreadable = 0;
    for (const table of SEALED_TABLES) {
      await earlierTransactionsEnd(db, signal);
      for await (const page of scan(db, table)) {
        const old = page.filter(({ keyId }) => keyId !== secrets.keyIds[0]);
        left += old.length;
        for (const column of Object.keys(table.columns)) {
          const keys = old.filter((value) => value.column === column).map(({ key }) => key);
          const batch = await reencrypt(db, secrets, { table, column, keys });
          replaced += batch.replaced;
          unreadable += batch.unreadable;
        }
        progress(replaced);
      }
    }
  }
  const use = await keyUse(db, secrets);
  if (use.isDone) await db.query('delete from encryption_keys where id <> $1', [use.current]);
  return use;
}

/** Codes that exist now may have been sent with an earlier key; those of a later time were not. */
async function beginRotation(db: Db, current: string): Promise<void> {
  await db.query(
    `insert into encryption_keys (id, last_code_id) select $1, coalesce(max(id), 0) from codes
     on conflict (id) do update set last_code_id = excluded.last_code_id where encryption_keys.last_code_id is null`,
    [current],
  );
}

async function earlierCodes(db: Db, current: string): Promise<KeyUse['codes']> {
  const { rows } = await db.query<KeyUse['codes']>(
    `select count(*)::int as count, max(expires_at) as until from codes
     where used_at is null and expires_at > now()
       and id <= (select case when exists (select from encryption_keys where id <> $1)
         then coalesce((select last_code_id from encryption_keys where id = $1), 9223372036854775807) else 0 end)`,
    [current],
  );
  return rows[0] as KeyUse['codes'];
}

/**
 * A batch of an import that began before an item was encrypted again may still copy its earlier value to the user, so
 * the second factors are read after all transactions that were open have ended.
 */
async function earlierTransactionsEnd(db: Db, signal?: AbortSignal): Promise<void> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now');
  for (;;) {
    const { rowCount } = await db.query(
      `select from pg_stat_activity where datname = current_database() and usename = current_user
         and pid <> pg_backend_pid() and xact_start < $1`,
      [rows[0]?.now],
    );
    if (rowCount === 0) return;
    await sleep(PAUSE_MS, undefined, { signal });
  }
}
