/**
 * Resolves the duplicates that the Bloom filter of duplicates.ts suspected. Of several items with the same id, or with
 * the same user name in one organization, the first is imported. The others fail, or are skipped if the import skips
 * existing users. Runs in time linear in the items, whatever the body contains.
 * On crash: this is part of the transaction that accepts the import, so nothing of it is kept.
 */
import { allowLong } from '../../db/limits.ts';
import type { Db } from '../../db/pool.ts';
import { errorBody } from '../../errors.ts';
import { PAYLOAD } from '../items.ts';

const ID_TWICE = errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'This userId appears earlier in this import.');
const NAME_TWICE = errorBody(
  'ALREADY_EXISTS',
  'USER-NAME-TAKEN',
  'This user name appears earlier in this import, in the same organization.',
);

export interface DuplicateRule {
  /** Skip a duplicate in the same organization. A duplicate in another organization fails in any case. */
  skips: boolean;
  /** Erase the data of failed items too, as in a dry run. */
  erases: boolean;
}

export async function settleDuplicates(db: Db, importId: string, rule: DuplicateRule): Promise<void> {
  // The planner has no statistics yet for rows that were just copied in, and would compare each with each.
  await db.query('set local enable_nestloop = off');
  await allowLong(db);
  await settleLater(db, importId, rule, 'i.user_id', ID_TWICE);
  await settleLater(db, importId, rule, `o.org_id || chr(1) || i.user_name_key`, NAME_TWICE);
}

async function settleLater(
  db: Db,
  importId: string,
  { skips, erases }: DuplicateRule,
  key: string,
  error: unknown,
): Promise<void> {
  const { same, outcome, counts } = skips ? skippedOrFailed(erases) : failed(erases);
  await db.query(
    `with keyed as materialized (
       select i.ordinal, i.maybe_duplicate, o.org_id, ${key} as key
       from import_items i join import_orgs o using (import_id, org_index)
       where i.import_id = $1 and i.state = 'pending'
     ),
     first as (
       select key, min(ordinal) as ordinal from keyed
       where key in (select key from keyed where maybe_duplicate) group by key having count(*) > 1
     ),
     later as (
       select k.ordinal, ${same.column} from keyed k join first f on f.key = k.key and k.ordinal > f.ordinal ${same.join}
     ),
     lost as (
       update import_items i set ${outcome}
       from later l where i.import_id = $1 and i.ordinal = l.ordinal returning i.org_index, i.state
     ),
     counted as (
       select org_index, count(*) filter (where state = 'failed')::int as failed,
         count(*) filter (where state = 'skipped')::int as skipped
       from lost group by org_index
     )
     update import_orgs o set ${counts} from counted c where o.import_id = $1 and o.org_index = c.org_index`,
    [importId, JSON.stringify(error)],
  );
}

const failed = (erases: boolean) => ({
  same: { column: 'false as same_org', join: '' },
  outcome: [`state = 'failed', error = $2`, ...(erases ? PAYLOAD.map((column) => `${column} = null`) : [])].join(', '),
  counts: 'failed = o.failed + c.failed',
});

const skippedOrFailed = (erases: boolean) => ({
  same: { column: 'k.org_id = h.org_id as same_org', join: 'join keyed h on h.ordinal = f.ordinal' },
  outcome: [
    `state = case when l.same_org then 'skipped'::item_state else 'failed' end`,
    'error = case when l.same_org then null else $2::jsonb end',
    ...PAYLOAD.map((column) => `${column} = case when ${erases ? 'false' : 'not l.same_org'} then i.${column} end`),
  ].join(', '),
  counts: 'failed = o.failed + c.failed, skipped = o.skipped + c.skipped',
});
