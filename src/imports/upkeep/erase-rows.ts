/**
 * What a person leaves in each table that outlives its users, and how it is erased there, for erasure.ts.
 *
 * Guarantee: an erased item cannot be imported any more, by a retry or a resume, and the counts of its import stay
 * right. Items of imports that run or are being undone are left: a second request after their end erases them.
 */

import { NAME_CHARS } from '../../directory/sign-in-events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import type { AuditEvents, Erasures, ImportItems } from '../../platform/db/tables.ts';
import { errorBody } from '../../platform/errors.ts';
import { nameKey } from '../../platform/fields.ts';
import { ERASED } from '../entries/item.ts';
import { forgetFailures } from '../entries/outcome.ts';

/** A request of `src/directory/users/erase.ts`. */
const ERASURE = {
  userId: 'user_id',
  orgId: 'org_id',
  tombstone: 'tombstone',
  /** User name, login names, address and number, as they are and as keys. */
  names: 'names',
  editor: 'editor',
} as const satisfies Names<Erasures>;

export interface Erasure extends Named<Erasures, typeof ERASURE> {
  /** As text, as a Date has only milliseconds. */
  createdAt: string;
}

/** SQL over `erasures`, in the shape of `Erasure`. */
export const ERASURE_COLUMNS = `${columnList(ERASURE)}, created_at::text as "createdAt"`;

/** The blocks of a table that one transaction reads, as row pointers. */
export interface Range {
  from: string;
  to: string;
}

const IN_RANGE = 'ctid >= $1::tid and ctid < $2::tid';
const PERSON_ERASED = JSON.stringify(
  errorBody('FAILED_PRECONDITION', 'USER-ERASED', 'The data of this user was erased.'),
);

/** SQL: the text contains one of the quoted strings of the parameter. */
function mentions(text: string, parameter: number): string {
  return `exists (select from unnest($${parameter}::text[]) as q where strpos(${text}, q) > 0)`;
}

/** The id and the names as strings of JSON; jsonb writes strings as JSON.stringify does. */
function quoted({ userId, names }: Erasure): string[] {
  return [userId, ...names].map((text) => JSON.stringify(text));
}

async function changed(db: Db, text: string, { from, to }: Range, values: unknown[]): Promise<number> {
  return (await db.query(text, [from, to, ...values])).rowCount ?? 0;
}

/** The history of changes: the id only, as events have no names. */
export function eraseEvents(db: Db, range: Range, { userId, tombstone, createdAt }: Erasure): Promise<number> {
  return changed(
    db,
    `update events set
       aggregate_id = case when aggregate_type = 'user' and aggregate_id = $3 then $4 else aggregate_id end,
       editor = case when editor = $3 then $4 else editor end,
       payload = case
         when payload ->> 'userId' = $3 then jsonb_set(payload, '{userId}', to_jsonb($4::text))
         when payload -> 'userIds' ? $3 then jsonb_set(payload, '{userIds}', (
           select jsonb_agg(case when id = $3 then $4 else id end order by n)
           from jsonb_array_elements_text(payload -> 'userIds') with ordinality as u (id, n)))
         else payload end
     where ${IN_RANGE} and created_at <= $5
       and (aggregate_type = 'user' and aggregate_id = $3 or payload -> 'userIds' ? $3 or editor = $3
         or payload ->> 'userId' = $3)`,
    range,
    [userId, tombstone, createdAt],
  );
}

/** Audit events have rounded times, which may be later than the request whose transaction wrote them. */
const AUDIT_TIME = 'timestamptz(3)';

/** Audit events: the id, the names that were typed, and from where the person came. */
export async function eraseAudit(db: Db, range: Range, erasure: Erasure): Promise<number> {
  const { userId, tombstone, createdAt } = erasure;
  const typed = await typedBy(db, range, erasure);
  const isOwn = `(actor_id = $3 or actor_kind = 'anonymous')`;
  return changed(
    db,
    `update audit_events set
       actor_id = case when actor_id = $3 then $4 else actor_id end,
       user_id = case when user_id = $3 then $4 else user_id end,
       address = case when ${isOwn} then null else address end,
       user_agent = case when ${isOwn} then null else user_agent end,
       repeat_key = null,
       payload = (case when payload ->> 'userId' = $3 then jsonb_set(payload, '{userId}', to_jsonb($4::text))
         else payload end) - (case when sequence = any($6::bigint[]) then 'loginName' else '' end)
     where ${IN_RANGE} and created_at <= $5::${AUDIT_TIME}
       and (actor_id = $3 or user_id = $3 or payload ->> 'userId' = $3 or sequence = any($6::bigint[]))`,
    range,
    [userId, tombstone, createdAt, typed],
  );
}

/** Failed sign-ins with a name of the person, of which it was not known whose it is. */
async function typedBy(db: Db, { from, to }: Range, { userId, names, orgId, createdAt }: Erasure): Promise<string[]> {
  const known = new Set([nameKey(userId), ...names].map((name) => [...name].slice(0, NAME_CHARS).join('')));
  const { rows } = await db.query<Pick<AuditEvents, 'sequence'> & { name: string }>(
    `select sequence, payload ->> 'loginName' as name from audit_events
     where ${IN_RANGE} and payload ->> 'loginName' is not null and created_at <= $3::${AUDIT_TIME}
       and coalesce(org_id, $4) = $4`,
    [from, to, createdAt, orgId],
  );
  return rows.filter(({ name }) => known.has(nameKey(name))).map(({ sequence }) => sequence);
}

/** Columns that hold ids of users. */
export function eraseColumns(table: string, columns: readonly string[]) {
  const set = columns.map((column) => `${column} = case when ${column} = $3 then $4 else ${column} end`);
  const any = columns.map((column) => `${column} = $3`);
  const text = `update ${table} set ${set.join(', ')} where ${IN_RANGE} and (${any.join(' or ')})`;
  return (db: Db, range: Range, { userId, tombstone }: Erasure) => changed(db, text, range, [userId, tombstone]);
}

interface FoundItem extends Named<ImportItems, { importId: 'import_id'; ordinal: 'ordinal'; orgIndex: 'org_index' }> {
  isPending: boolean;
}

// The import of an item that was found by its id is older than the request, or the id belongs to somebody new.
const ITEMS = `
  select t.import_id as "importId", t.ordinal, t.org_index as "orgIndex", t.state = 'pending' as "isPending"
  from import_items t
    join import_orgs o on o.import_id = t.import_id and o.org_index = t.org_index and o.org_id = $3
    join imports i on i.id = t.import_id and i.created_at <= $4 and i.kind <> 'draft'
      and i.state not in ('receiving', 'running', 'undoing')
  where t.ctid >= $1::tid and t.ctid < $2::tid and (t.user_id = $5
      or (t.user_name = any($6::text[]) or lower(t.user_name) = any($6) or t.user_name_key = any($6))
        and not exists (select from users u where u.id = t.user_id))
  order by t.import_id, t.ordinal`;

/** Items of the organization with the id, or with the name where it is nobody else's: those of dry runs, failed ones. */
export async function eraseItems(db: Db, { from, to }: Range, erasure: Erasure): Promise<number> {
  const { orgId, createdAt, userId, names, tombstone } = erasure;
  const { rows } = await db.query<FoundItem>(ITEMS, [from, to, orgId, createdAt, userId, names]);
  let erased = 0;
  for (const [importId, items] of Map.groupBy(rows, (row) => row.importId)) {
    erased += await eraseOfImport(db, importId, items, tombstone);
  }
  const values = [userId, tombstone, createdAt];
  return erased + (await changed(db, CORRECTED, { from, to }, values));
}

const CORRECTED = `update import_items set changed_by = array_replace(changed_by, $3, $4)
  where ${IN_RANGE} and $3 = any(changed_by) and (select created_at <= $5 from imports i where i.id = import_id)`;

async function eraseOfImport(db: Db, importId: string, items: FoundItem[], tombstone: string): Promise<number> {
  const { rowCount: isStill } = await db.query(
    `select from imports where id = $1 and kind <> 'draft' and state not in ('receiving', 'running', 'undoing') for update`,
    [importId],
  );
  // Found again by the next pass.
  if (!isStill) return items.length;
  await db.query(
    `update import_items set user_id = $3, user_name = null, links = null, ${ERASED},
       error = case when state in ('failed', 'pending') then $4::jsonb end,
       state = case when state = 'pending' then 'failed' else state end
     where import_id = $1 and ordinal = any($2::int[])`,
    [importId, items.map(({ ordinal }) => ordinal), tombstone, PERSON_ERASED],
  );
  await forgetFailures(db, importId);
  for (const { orgIndex } of items.filter(({ isPending }) => isPending)) {
    await db.query('update import_orgs set failed = failed + 1 where import_id = $1 and org_index = $2', [
      importId,
      orgIndex,
    ]);
    await db.query('update imports set failed = failed + 1 where id = $1', [importId]);
  }
  return items.length;
}

/** Texts that are short-lived, or written by a person about others: answers, webhooks, drafts, sign-ins in progress. */
export const eraseTexts = [
  [
    'idempotency_keys',
    (db: Db, range: Range, erasure: Erasure) =>
      changed(
        db,
        `delete from idempotency_keys
         where ${IN_RANGE} and created_at <= $3 and (caller = $4 or ${mentions('answer::text', 5)})`,
        range,
        [erasure.createdAt, erasure.userId, quoted(erasure)],
      ),
  ],
  [
    'webhook_deliveries',
    (db: Db, range: Range, { userId, tombstone, createdAt }: Erasure) =>
      changed(
        db,
        `update webhook_deliveries set body = replace(body, $3, $4)
         where ${IN_RANGE} and created_at <= $5 and strpos(body, $3) > 0`,
        range,
        [JSON.stringify(userId), JSON.stringify(tombstone), createdAt],
      ),
  ],
  [
    'import_preparations',
    (db: Db, range: Range, erasure: Erasure) =>
      changed(
        db,
        `update import_preparations set conversion = null, progress = null, result = null, error = null
         where ${IN_RANGE}
           and exists (select from imports i where i.id = import_id and (i.kind <> 'draft' or i.state = 'discarded'))
           and ${mentions(`concat_ws(' ', conversion, progress, result, error)`, 3)}`,
        range,
        [quoted(erasure)],
      ),
  ],
  [
    'oauth_models',
    (db: Db, range: Range, erasure: Erasure) =>
      changed(
        db,
        `delete from oauth_models where ${IN_RANGE} and user_id is null and ${mentions('payload::text', 3)}`,
        range,
        [quoted(erasure)],
      ),
  ],
  [
    'removed_user_ids',
    (db: Db, range: Range, { userId }: Erasure) =>
      changed(
        db,
        `with old as (delete from removed_user_ids where ${IN_RANGE} and id = $3 returning id, org_id)
         insert into removed_users (id_hash, org_id) select removed_id_hash(id), org_id from old
         on conflict (id_hash) do nothing`,
        range,
        [userId],
      ),
  ],
] as const;
