/**
 * Metadata, identity provider links and second factors that entries add to existing users: finds the new ones and
 * writes them. Those that an entry omits are kept, and so is a second factor that the user already has. Values are
 * compared in the database, as each may be half a megabyte.
 */
import type { Db } from '../../../db/pool.ts';
import { withinBatch } from '../../batch-items.ts';

/** An item and its target user. */
export interface Pair {
  ordinal: number;
  userId: string;
}

const OF_PAIRS = `from unnest($2::int[], $3::text[]) as p (ordinal, user_id)
  join import_items i on ${withinBatch('$2')} and i.ordinal = p.ordinal`;

const METADATA = `${OF_PAIRS}
  cross join lateral jsonb_to_recordset(i.extras -> 'metadata') as m (key text, value text)
  cross join lateral decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64') as new_value`;

const LINKS = `${OF_PAIRS}
  cross join lateral jsonb_to_recordset(i.extras -> 'idps')
    as l ("configId" text, "externalUserId" text, "displayName" text)`;

/** By the name of the import's field: the query for pairs with something new, and the statement that writes it. */
const BELONGINGS = {
  metadata: {
    differs: `select p.ordinal ${METADATA}
      left join (select * from user_metadata where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.key = m.key
      where u.value is distinct from new_value`,
    put: `insert into user_metadata (user_id, key, value) select p.user_id, m.key, new_value ${METADATA}
      on conflict (user_id, key) do update set value = excluded.value
      where user_metadata.value <> excluded.value`,
  },
  idps: {
    differs: `select p.ordinal ${LINKS}
      left join (select * from user_idp_links where user_id = any($3::text[])) u
        on u.user_id = p.user_id and u.idp_id = l."configId" and u.external_user_id = l."externalUserId"
      where u.display_name is distinct from l."displayName"`,
    put: `insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
      select p.user_id, l."configId", l."externalUserId", l."displayName" ${LINKS}
      on conflict (user_id, idp_id, external_user_id) do update set display_name = excluded.display_name
      where user_idp_links.display_name <> excluded.display_name`,
  },
  otpCode: {
    differs: `select p.ordinal ${OF_PAIRS}
      where i.totp_sealed is not null and not exists (
        select from user_totp t where t.user_id = any($3::text[]) and t.user_id = p.user_id)`,
    put: `insert into user_totp (user_id, secret, confirmed_at) select p.user_id, i.totp_sealed, now() ${OF_PAIRS}
      where i.totp_sealed is not null on conflict (user_id) do nothing`,
  },
} as const;

type Belonging = keyof typeof BELONGINGS;
const NAMES = Object.keys(BELONGINGS) as Belonging[];

/** The names of the fields with something new, by item. */
export async function newBelongings(db: Db, importId: string, pairs: Pair[]): Promise<Map<number, Belonging[]>> {
  const found = new Map<number, Belonging[]>();
  for (const name of NAMES) {
    const { rows } = await db.query<{ ordinal: number }>(BELONGINGS[name].differs, parameters(importId, pairs));
    for (const ordinal of new Set(rows.map((row) => row.ordinal))) {
      found.set(ordinal, [...(found.get(ordinal) ?? []), name]);
    }
  }
  return found;
}

/** Writes what `newBelongings` found; the caller has locked the users' rows. */
export async function putBelongings(
  db: Db,
  importId: string,
  pairs: Pair[],
  found: ReadonlyMap<number, Belonging[]>,
): Promise<void> {
  for (const name of NAMES) {
    const affected = pairs.filter((pair) => found.get(pair.ordinal)?.includes(name));
    if (affected.length > 0) await db.query(BELONGINGS[name].put, parameters(importId, affected));
  }
}

function parameters(importId: string, pairs: Pair[]): unknown[] {
  return [importId, pairs.map((pair) => pair.ordinal), pairs.map((pair) => pair.userId)];
}
