/**
 * Replaces the encryption key: encrypts every stored value with the current key, and says which keys are still needed.
 * For `muster keys`, which runs beside the service, with its settings.
 *
 * Values are replaced in small batches, while imports and logins use them. Which key encrypted them is read page by
 * page along the primary key: no statement takes long, however large the table is, and no value leaves the database for
 * that.
 *
 * Guarantee: a key is given up only after a pass that found no value of it, begun when no transaction that could still
 * store one was left. A value is replaced only if it is still the one that was read. Rows that somebody has locked are
 * left out, so nothing waits here, and no other transaction is ended by a deadlock with this one. Any number of runs at
 * once do no harm.
 * On crash: run it again; it continues with the values that are left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { SEALED_FACTS } from '../imports/entries/facts.ts';
import { ENTRY_PURPOSE, FILE_KEY_PURPOSE, PASSWORD_PURPOSE } from '../imports/entries/item.ts';
import { webhookSeal } from '../messages/webhooks/signature.ts';
import { pepperSeal } from '../passwords/pepper.ts';
import { RECOVERY_PURPOSE } from '../passwords/recovery-codes.ts';
import { TOTP_PURPOSE } from '../passwords/totp-secret.ts';
import type { Db } from '../platform/db/pool.ts';
import { oneRow } from '../platform/db/rows.ts';
import { keyIdOf, type Secrets } from '../platform/encryption.ts';
import { SIGNING_KEY_PURPOSE } from '../signin/oauth/keys.ts';
import { sourceSeal } from '../signin/password-sources/store.ts';
import { idpSeal, tripSeal } from '../signin/providers/store.ts';

/** Values that are replaced in one statement: few, as an invalid entry may have a megabyte. */
const BATCH = 50;

/** Rows that are read in one statement. */
const PAGE = 5000;
const PAUSE_MS = 500;

/** The primary key of a row, as text. */
export type RowKey = string[];

export interface SealedTable {
  name: string;
  /** The columns of the primary key, with their types. */
  key: readonly (readonly [column: string, type: string])[];
  /** The encrypted columns, with the purpose that their values are encrypted for. */
  columns: Readonly<Record<string, (key: RowKey) => string>>;
  /** Values inside a column, each as a row with the columns above. */
  inside?: {
    /** SQL of the rows. */
    rows: string;
    /** SQL: the value in the row `t` of the table, by the key `v`. */
    value: string;
    /** SQL: sets that value to `v.fresh`, in the list of an update. */
    set: string;
    /** The columns of the key that are the table's. */
    own: number;
  };
}

/** Of an item's `extras`: place 0 has its recovery codes, the others its apps from the second on. */
const ITEM_FACTORS: SealedTable = {
  name: 'import_items',
  key: [
    ['import_id', 'bigint'],
    ['ordinal', 'integer'],
    ['place', 'integer'],
  ],
  columns: { extras: ([, , place]) => (place === '0' ? RECOVERY_PURPOSE : TOTP_PURPOSE) },
  inside: {
    rows: `(select i.import_id, i.ordinal, s.place, s.extras from import_items i cross join lateral (
        select 0 as place, i.extras -> 'recovery' ->> 'sealed' as extras where i.extras ? 'recovery'
        union all
        select a.place::int, a.app ->> 'sealed'
        from jsonb_array_elements(i.extras -> 'totps') with ordinality as a (app, place)) s
      where i.extras is not null and i.sign_in & ${SEALED_FACTS} <> 0)`,
    value: `case v.place when 0 then t.extras -> 'recovery' ->> 'sealed' else t.extras -> 'totps' -> (v.place - 1) ->> 'sealed' end`,
    set: `extras = jsonb_set(t.extras, case v.place when 0 then '{recovery,sealed}'
      else array['totps', (v.place - 1)::text, 'sealed'] end, to_jsonb(v.fresh))`,
    own: 2,
  },
};

/**
 * Every column that holds encrypted values. A test fails for one that is missing here.
 *
 * Items come before second factors, as an import copies the secret of a second factor from an item to its user.
 */
export const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'import_items',
    key: [
      ['import_id', 'bigint'],
      ['ordinal', 'integer'],
    ],
    columns: {
      password_sealed: () => PASSWORD_PURPOSE,
      totp_sealed: () => TOTP_PURPOSE,
      entry_sealed: () => ENTRY_PURPOSE,
    },
  },
  ITEM_FACTORS,
  {
    name: 'import_files',
    key: [
      ['import_id', 'bigint'],
      ['file_id', 'text'],
    ],
    columns: { key_sealed: () => FILE_KEY_PURPOSE },
  },
  { name: 'import_peppers', key: [['import_id', 'bigint']], columns: { sealed: ([id]) => pepperSeal(id as string) } },
  {
    name: 'user_totp',
    key: [
      ['user_id', 'text'],
      ['id', 'text'],
    ],
    columns: { secret: () => TOTP_PURPOSE },
  },
  { name: 'user_factors', key: [['user_id', 'text']], columns: { recovery_sealed: () => RECOVERY_PURPOSE } },
  { name: 'signing_keys', key: [['id', 'text']], columns: { sealed_jwk: () => SIGNING_KEY_PURPOSE } },
  { name: 'password_sources', key: [['id', 'text']], columns: { secret_sealed: ([id]) => sourceSeal(id as string) } },
  { name: 'idps', key: [['id', 'text']], columns: { secret_sealed: ([id]) => idpSeal(id as string) } },
  {
    name: 'idp_round_trips',
    key: [['id', 'text']],
    columns: { sealed: ([id]) => tripSeal(id as string), result_sealed: ([id]) => tripSeal(id as string) },
  },
  { name: 'organizations', key: [['id', 'text']], columns: { webhook_secret: ([id]) => webhookSeal(id as string) } },
];

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

export interface Reencrypted {
  replaced: number;
  /** Values that no given key decrypts. All others were changed, removed or locked meanwhile. */
  unreadable: number;
}

/** A value; `keyId` is undefined if it was encrypted while there was one key. */
export interface SealedValue {
  key: RowKey;
  column: string;
  keyId: string | undefined;
}

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
  // With a single key, every value is encrypted with it.
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

/** Codes that exist now may have been sent with an earlier key; codes of a later time were not. */
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
  return oneRow(rows);
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

/** Encrypts the values of a column again with the current key. */
export async function reencrypt(
  db: Db,
  secrets: Pick<Secrets, 'seal' | 'unseal'>,
  { table, column, keys }: { table: SealedTable; column: string; keys: RowKey[] },
): Promise<Reencrypted> {
  const total = { replaced: 0, unreadable: 0 };
  // A statement changes each row of the table once.
  const groups = table.inside ? Map.groupBy(keys, (key) => key.at(-1)).values() : [keys];
  for (const group of groups) {
    for (let at = 0; at < group.length; at += BATCH) {
      const { replaced, unreadable } = await replaceBatch(db, secrets, table, column, group.slice(at, at + BATCH));
      total.replaced += replaced;
      total.unreadable += unreadable;
    }
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
  const rows = await sealedOf(db, table, column, keys);
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

/** The values of a column; `position` is that of the key. */
async function sealedOf(
  db: Db,
  table: SealedTable,
  column: string,
  keys: RowKey[],
): Promise<{ position: number; sealed: string }[]> {
  const { rows } = await db.query<{ position: number; sealed: string }>(
    `select v.position::int, t.${column} as sealed from ${rowsOf(table)} t join ${given(table, ['position'])} on ${same(table)}
     where t.${column} is not null`,
    [...columnsOf(table, keys), keys.map((_, i) => String(i))],
  );
  return rows;
}

/** Yields the keys of rows with values that no given encryption key decrypts, page by page. */
export async function* unreadable(
  db: Db,
  secrets: Pick<Secrets, 'unseal'>,
  table: SealedTable,
): AsyncGenerator<RowKey[]> {
  for await (const page of scan(db, table)) {
    const lost = new Map<string, RowKey>();
    for (const [column, purposeOf] of Object.entries(table.columns)) {
      const keys = page.filter((value) => value.column === column).map(({ key }) => key);
      for (let at = 0; at < keys.length; at += BATCH) {
        const batch = keys.slice(at, at + BATCH);
        for (const { position, sealed } of await sealedOf(db, table, column, batch)) {
          const key = batch[position] as RowKey;
          if (!canUnseal(secrets, sealed, purposeOf(key))) lost.set(key.join('\n'), key);
        }
      }
    }
    if (lost.size > 0) yield [...lost.values()];
  }
}

function canUnseal(secrets: Pick<Secrets, 'unseal'>, sealed: string, purpose: string): boolean {
  try {
    secrets.unseal(sealed, purpose);
    return true;
  } catch {
    return false;
  }
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
  const { name, key, inside } = table;
  const own = { key: key.slice(0, inside?.own) };
  const value = inside?.value ?? `t.${column}`;
  const free = `select ${key.map(([part]) => `v.${part}`).join(', ')}, v.fresh
    from ${name} t join ${given(table, ['old', 'fresh'])} on ${same(own)} and ${value} = v.old
    for update of t skip locked`;
  return `with v as materialized (${free})
    update ${name} t set ${inside?.set ?? `${column} = v.fresh`} from v where ${same(own)}`;
}

function rowsOf({ name, inside }: SealedTable): string {
  return inside?.rows ?? name;
}

/** The given keys and more columns of text, as `v`. */
function given({ key }: SealedTable, more: string[]): string {
  const names = [...key.map(([name]) => name), ...more];
  const arrays = [...key.map(([, type]) => type), ...more.map(() => 'text')].map((type, i) => `$${i + 1}::${type}[]`);
  return `unnest(${arrays.join(', ')}) as v (${names.join(', ')})`;
}

function same({ key }: Pick<SealedTable, 'key'>): string {
  return key.map(([name]) => `t.${name} = v.${name}`).join(' and ');
}

function columnsOf({ key }: SealedTable, keys: RowKey[]): string[][] {
  return key.map((_, i) => keys.map((each) => each[i] as string));
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

function pageOf(table: SealedTable, columns: string[], after: RowKey | undefined): string {
  const { key, inside } = table;
  const names = key.map(([column]) => column);
  const bounds = key.map(([, type], i) => `$${i + 1}::${type}`);
  // By the index of the table, which does not have the whole key.
  const own = inside
    ? `and (${names.slice(0, inside.own).join(', ')}) >= (${bounds.slice(0, inside.own).join(', ')})`
    : '';
  return `select array[${names.map((column) => `${column}::text`).join(', ')}] as key,
      array[${columns.map((column) => `left(${column}, 9)`).join(', ')}] as heads
    from ${rowsOf(table)} t ${after ? `where (${names.join(', ')}) > (${bounds.join(', ')}) ${own}` : ''}
    order by ${names.join(', ')} limit ${PAGE}`;
}
