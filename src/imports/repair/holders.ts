/**
 * Who already has the user id or the user name of an entry: another entry of the import, or a user of the organization.
 * An import finds out only when it writes the user; a correction must not promise what the import then refuses.
 */
import { errorIdOf, FIXED_ID } from '../../contract/causes.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Item, PendingItem } from '../entries/item.ts';
import type { StoredRow } from './entry.ts';
import type { Fixable } from './fixable.ts';

/** A changed entry with the row from before. */
export interface Named {
  row: Pick<StoredRow, 'ordinal' | 'org_index' | 'error'>;
  item: Item;
}

export interface Holder {
  field: 'userId' | 'user.userName';
  /** Of the other entry; absent: a user of the organization has the name. */
  index?: number;
}

type Entries = Pick<Fixable, 'of' | 'entriesOf'>;

/** Completes a violation of the field. */
export function holderText({ field, index }: Holder): string {
  const what = field === 'userId' ? 'user id' : 'user name';
  if (index === undefined) return `is the ${what} of a user of the organization`;
  return `is also the ${what} of no. ${index + 1} of this import`;
}

/** Entries that will be imported: those that are good, and failed ones that were corrected. */
const OTHERS = `select e.ordinal, e.user_id, e.user_name_key, o.org_id
  from import_items e join import_orgs o on o.import_id = $1 and o.org_index = e.org_index
  where e.import_id = $2 and e.state in ('pending', 'failed') and (e.user_id = any($5) or e.user_name_key = any($6))
    and not exists (
      select from import_items v where v.import_id = $1 and v.ordinal = e.ordinal and v.state = 'failed'
        and v.error #>> '{details,0,id}' is distinct from '${FIXED_ID}')`;

const HOLDERS = `with wanted as (
    select w.*, o.org_id from unnest($3::int[], $4::int[], $5::text[], $6::text[]) as w (ordinal, org_index, id, key)
      join import_orgs o on o.import_id = $1 and o.org_index = w.org_index),
  others as materialized (${OTHERS})
  select w.ordinal,
    (select min(e.ordinal) from others e where e.ordinal <> w.ordinal and e.user_id = w.id) as by_id,
    (select min(e.ordinal) from others e where e.ordinal <> w.ordinal and e.user_name_key = w.key and e.org_id = w.org_id)
      as by_name,
    exists (select from users u where u.user_name_key = w.key and u.org_id = w.org_id and u.id <> w.id) as is_user,
    (select on_existing = 'fail' from imports where id = $1) as fails
  from wanted w`;

interface HolderRow {
  ordinal: number;
  by_id: number | null;
  by_name: number | null;
  is_user: boolean;
  /** The import, or the check, fails on users who exist. */
  fails: boolean;
}

/**
 * Who has the id or name of these entries, by ordinal. A user who exists counts for an import that fails on existing
 * users, and for an entry that failed for its name.
 */
export async function holdersOf(
  db: Db,
  { of, entriesOf }: Entries,
  changed: readonly Named[],
): Promise<Map<number, Holder>> {
  const good = changed.filter((one): one is Named & { item: PendingItem } => one.item.state === 'pending');
  if (good.length === 0) return new Map();
  const { rows } = await db.query<HolderRow>(HOLDERS, [
    of.importId,
    entriesOf,
    good.map(({ row }) => row.ordinal),
    good.map(({ row }) => row.org_index),
    good.map(({ item }) => item.userId),
    good.map(({ item }) => item.userNameKey),
  ]);
  const taken = new Set(good.filter(({ row }) => errorIdOf(row.error) === NAME_TAKEN).map(({ row }) => row.ordinal));
  return new Map(
    rows.flatMap(({ ordinal, by_id, by_name, is_user, fails }): [number, Holder][] => {
      if (by_id !== null) return [[ordinal, { field: 'userId', index: by_id }]];
      if (by_name !== null) return [[ordinal, { field: 'user.userName', index: by_name }]];
      return is_user && (fails || taken.has(ordinal)) ? [[ordinal, { field: 'user.userName' }]] : [];
    }),
  );
}

const NAME_TAKEN = 'USER-NAME-TAKEN';
const ID_TAKEN = 'USER-ID-TAKEN';

/**
 * The first entry with the id of each of these rows that failed as a duplicate for its id, or with its name, by ordinal.
 */
export async function earlierRows(
  db: Db,
  { of, entriesOf }: Entries,
  rows: readonly Pick<StoredRow, 'ordinal' | 'error'>[],
): Promise<Map<number, number>> {
  const failedFor = (id: string) => rows.filter(({ error }) => errorIdOf(error) === id).map(({ ordinal }) => ordinal);
  const [byId, byName] = [failedFor(ID_TAKEN), failedFor(NAME_TAKEN)];
  if (byId.length + byName.length === 0) return new Map();
  // An entry that was imported has lost its key, and kept its id and name.
  const found = await db.query<{ ordinal: number; earlier: number }>(
    `with later as materialized (
       select e.ordinal, o.org_id, e.user_id, e.user_name, e.user_name_key
       from import_items e join import_orgs o on o.import_id = $1 and o.org_index = e.org_index
       where e.import_id = $2 and (e.ordinal = any($3::int[]) or e.ordinal = any($4::int[])))
     select l.ordinal, min(e.ordinal) as earlier
     from later l join import_items e on e.import_id = $2 and e.ordinal < l.ordinal
       join import_orgs o on o.import_id = $1 and o.org_index = e.org_index
     where case when l.ordinal = any($3::int[]) then e.user_id = l.user_id
       else o.org_id = l.org_id and (e.user_name_key = l.user_name_key or e.user_name = l.user_name) end
     group by l.ordinal`,
    [of.importId, entriesOf, byId, byName],
  );
  return new Map(found.rows.map(({ ordinal, earlier }) => [ordinal, earlier]));
}
