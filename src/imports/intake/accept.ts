/**
 * The import's own rows during the upload: created invisible, then activated in one short transaction, or removed. The
 * transaction also settles the users that appear in the body a second time.
 */
import type { Caller } from '../../contract/permissions.ts';
import { allowLong } from '../../platform/db/client.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError, errorBody } from '../../platform/errors.ts';
import { traceContext } from '../../platform/telemetry.ts';
import { FACT, PASSKEY_FACTS, USUAL } from '../entries/facts.ts';
import { ERASED, PAYLOAD } from '../entries/item.ts';
import { judgeLinks, judgePhones } from '../entries/links.ts';
import { countFirstFailures, RAN, type SettledBatch } from '../entries/outcome.ts';
import { type CountedFacts, MOST_LINK_SETS } from '../entries/sign-in-tally.ts';

/** The counts of an organization, by its place in the body. */
export interface OrgTally {
  /** Empty for entries of a draft that name no organization. */
  orgId: string;
  total: number;
  failed: number;
  /** Left out before the import began, as by a correction of a draft; absent: 0. */
  skipped?: number;
}

export interface DuplicateRule {
  /** Skip a duplicate in the same organization. A duplicate in another organization fails in any case. */
  skips: boolean;
  /** Erase the data of failed items too, as in a dry run. */
  erases: boolean;
}

export interface Acceptance {
  importId: string;
  sequence: string;
  /** The Go duration as the caller sent it. */
  timeout: string;
  timeoutMs: number;
  warnings: unknown[];
  orgs: OrgTally[];
  /** At least one item is marked `maybe_duplicate`. */
  hasDuplicates: boolean;
  /** What happens to users that appear in the body a second time. */
  duplicates: DuplicateRule;
  /** How its users sign in; 'changed': entries were corrected since; absent: an earlier version wrote them. */
  signIns?: CountedFacts[] | 'changed' | undefined;
  /** The system that the users come from, if it was not known when the import was created. */
  source?: string | undefined;
  /** The draft whose entries it judges: it is the dry run of a check, has no entries, and adds no jobs to the queue. */
  entriesOf?: string | undefined;
}

const ID_TWICE = errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'This userId appears earlier in this import.');

const NAME_TWICE = errorBody(
  'ALREADY_EXISTS',
  'USER-NAME-TAKEN',
  'This user name appears earlier in this import, in the same organization.',
);

const PASSKEY_TWICE = errorBody(
  'ALREADY_EXISTS',
  'PASSKEY-TAKEN',
  'A passkey with a credential id of this user appears earlier in this import.',
);

/**
 * Creates the import in state `receiving`, which every reader filters out.
 * @param source the system that its users come from
 */
export async function createReceiving(
  db: Db,
  caller: Pick<Caller, 'userId' | 'orgId'>,
  source?: string,
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into imports (kind, state, created_by, resource_owner, trace_context, source)
     values ('bulk', 'receiving', $1, $2, $3, $4) returning id`,
    [caller.userId, caller.orgId, traceContext() ?? null, source ?? null],
  );
  return (rows[0] as { id: string }).id;
}

/**
 * Tells the sweep that the upload is still active.
 * @throws ApiError 409 when the sweep has removed the upload as abandoned
 */
export async function touchReceiving(db: Db, importId: string): Promise<void> {
  const { rowCount } = await db.query(TOUCH, [importId]);
  if (rowCount !== 1) throw abandoned();
}

const TOUCH = `update imports set changed_at = now() where id = $1 and state = 'receiving' returning 1`;

function abandoned(): ApiError {
  const message = 'The upload made no progress for too long and nothing was imported. Send the request again.';
  return new ApiError('ABORTED', 'IMPORT-ABORTED', message);
}

/** Removes an import that was not accepted and all of its items, including those written after a sweep. */
export async function discard(pool: Pool, importId: string): Promise<void> {
  await transaction(pool, async (db) => {
    await allowLong(db);
    await db.query(`delete from imports where id = $1 and state = 'receiving'`, [importId]);
    await db.query('delete from import_items where import_id = $1 and not exists (select from imports where id = $1)', [
      importId,
    ]);
  });
}

/** Removes uploads without progress for `olderThanMs`. Any number of processes may call it at once. */
export async function sweepAbandoned(pool: Pool, olderThanMs: number): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where state = 'receiving' and changed_at < now() - $1 * interval '1 millisecond'`,
    [olderThanMs],
  );
  for (const { id } of rows) await discard(pool, id);
  return rows.length;
}

/**
 * Starts the import: when this transaction commits, the import is visible and its timeout starts.
 * @returns the users that are settled without a worker: invalid ones and duplicates
 * @throws ApiError 409 when the sweep has removed the upload as abandoned
 */
export async function activate(db: Db, acceptance: Acceptance): Promise<SettledBatch> {
  const { importId, timeout, timeoutMs, warnings, sequence, source, entriesOf, signIns } = acceptance;
  await insertOrgs(db, acceptance);
  if (acceptance.hasDuplicates) await settleDuplicates(db, acceptance);
  const counted = signIns === undefined || (await isCountedAnew(db, acceptance)) ? null : JSON.stringify(signIns);
  const { rows } = await db.query<SettledBatch>(ACTIVATE, [
    importId,
    timeout,
    timeoutMs,
    JSON.stringify(warnings),
    sequence,
    source ?? null,
    counted,
    signIns === undefined ? null : outcomesOf(acceptance.orgs),
    entriesOf === undefined,
  ]);
  if (rows[0]?.failed) await countFirstFailures(db, importId);
  return rows[0] as SettledBatch; // its row is locked
}

/** One statement, as each costs a round trip to a store that may be far away. */
const ACTIVATE = `with counted as (
    select sum(total)::int as total, sum(failed)::int as failed, sum(skipped)::int as skipped
    from import_orgs where import_id = $1),
  sign_ins_added as (
    insert into import_sign_ins (import_id, org_index, facts, links, users)
    select $1, org, facts, coalesce(links, '{}'), users
    from jsonb_to_recordset($7::jsonb) as s (org int, facts int, links text[], users int)),
  activated as (
    update imports set
      state = case when c.failed + c.skipped < c.total then 'running'::import_state
        when c.failed > 0 then 'completed_with_errors' else 'succeeded' end,
      finished_at = case when c.failed + c.skipped = c.total then clock_timestamp() end,
      timeout = $2, deadline = clock_timestamp() + $3 * interval '1 millisecond', accepted_at = clock_timestamp(),
      changed_at = clock_timestamp(), total = c.total, failed = c.failed, skipped = c.skipped, warnings = $4, sequence = $5,
      source = coalesce($6, source), sign_ins_of = coalesce($8, sign_ins_of)
    from counted c where id = $1 and state = 'receiving'
    returning imports.state, 0 as succeeded, imports.skipped, imports.failed, ${RAN}),
  cursor_added as (
    insert into import_dispatch (import_id, settled_before) select $1, failed + skipped from activated where $9::boolean)
  select * from activated`;

/** Locks the row of the import against a concurrent sweep. @throws ApiError 409 when the sweep has removed the upload */
async function insertOrgs(db: Db, { importId, orgs }: Pick<Acceptance, 'importId' | 'orgs'>): Promise<void> {
  const kept = orgs.map((org, index) => ({ ...org, index })).filter((o) => o.orgId !== '');
  const { rows } = await db.query<{ isThere: boolean }>(
    `with touched as (${TOUCH}),
     added as (
       insert into import_orgs (import_id, org_index, org_id, total, failed, skipped)
       select $1, o.* from touched, unnest($2::int[], $3::text[], $4::int[], $5::int[], $6::int[]) as o)
     select exists (select from touched) as "isThere"`,
    [
      importId,
      kept.map((o) => o.index),
      kept.map((o) => o.orgId),
      kept.map((o) => o.total),
      kept.map((o) => o.failed),
      kept.map((o) => o.skipped ?? 0),
    ],
  );
  if (!rows[0]?.isThere) throw abandoned();
}

/**
 * Stores how many users have which facts and links, if that must be counted from the items: entries were corrected, or
 * a link is held twice.
 */
async function isCountedAnew(
  db: Db,
  { importId, signIns, entriesOf }: Pick<Acceptance, 'importId' | 'signIns' | 'entriesOf'>,
): Promise<boolean> {
  const mayHaveLinks = signIns === 'changed' || signIns?.some(({ links }) => links !== undefined);
  const mayHavePhones = signIns === 'changed' || signIns?.some(({ facts }) => (facts & FACT.phone) !== 0);
  const haveLinks = mayHaveLinks && (await judgeLinks(db, importId, entriesOf));
  const havePhones = mayHavePhones && (await judgePhones(db, importId, entriesOf));
  const areHeld = haveLinks || havePhones;
  if (signIns !== 'changed' && !areHeld) return false;
  await allowLong(db);
  await db.query(countFacts(`import_items i where import_id = $2 and state = 'pending'`), [
    importId,
    entriesOf ?? importId,
  ]);
  return true;
}

/**
 * Of which outcomes the counts of sign-ins are; when the import has ended with others, they are counted again
 * (status/sign-in-counts.ts).
 */
function outcomesOf(orgs: readonly OrgTally[]): string {
  const skipped = orgs.reduce((sum, org) => sum + (org.skipped ?? 0), 0);
  const failed = orgs.reduce((sum, org) => sum + org.failed, 0);
  return `0:${skipped}:${failed}:0`;
}

/**
 * SQL that counts the facts and links of items `i` of the import `$1`, and returns the counts. Users with one of too
 * many different sets of links count as if their providers had no name.
 * @param items a `from` item and its conditions
 */
export function countFacts(items: string): string {
  return `with counted as materialized (
      select org_index, coalesce(sign_in, ${USUAL}) as facts, coalesce(links, '{}') as links, count(*) as users
      from ${items} group by 1, 2, 3),
    ranked as (
      select *, links = '{}' or row_number() over (order by links = '{}', users desc, links) <= ${MOST_LINK_SETS} as is_kept
      from counted)
    insert into import_sign_ins (import_id, org_index, facts, links, users)
    select $1, org_index, facts, case when is_kept then links else '{}' end, sum(users)
    from ranked group by 2, 3, 4 returning users`;
}

type Duplicates = Pick<Acceptance, 'importId' | 'duplicates' | 'entriesOf' | 'signIns'>;

/**
 * Resolves the duplicates that the filter of the intake suspected. Of several items with the same id, or with the same
 * user name in one organization, the first is imported. The others fail, or are skipped if the import skips existing
 * users. A user with a passkey of an earlier one always fails. Runs in time linear in the items, whatever the body contains.
 */
async function settleDuplicates(db: Db, of: Duplicates): Promise<void> {
  // The planner has no statistics yet for rows that were just copied in, and would compare each with each.
  await db.query('set local enable_nestloop = off');
  await allowLong(db);
  const { skips, erases } = of.duplicates;
  const outcome = skips ? skippedOrFailed(erases) : failed(erases);
  await settleLater(db, of, laterWith('i.user_id', of, outcome), outcome, ID_TWICE);
  await settleLater(db, of, laterWith(`o.org_id || chr(1) || i.user_name_key`, of, outcome), outcome, NAME_TWICE);
  if (mayHavePasskeys(of)) await settleLater(db, of, laterWithPasskey(of), failed(erases), PASSKEY_TWICE);
}

function mayHavePasskeys({ signIns }: Duplicates): boolean {
  return !Array.isArray(signIns) || signIns.some(({ facts }) => (facts & PASSKEY_FACTS) !== 0);
}

type LaterOutcome = ReturnType<typeof failed>;

/** SQL: `later`, the items with the key of an earlier one. */
function laterWith(key: string, { entriesOf }: Duplicates, { same }: LaterOutcome): string {
  return `keyed as materialized (
       select i.ordinal, i.maybe_duplicate, o.org_id, ${key} as key
       from import_items i join import_orgs o on o.import_id = $1 and o.org_index = i.org_index
       where i.import_id = $3 and i.state = 'pending' ${entriesOf ? `and ${WITHOUT_VERDICT}` : ''}
     ),
     first as (
       select key, min(ordinal) as ordinal from keyed
       where key in (select key from keyed where maybe_duplicate) group by key having count(*) > 1
     ),
     later as (
       select k.ordinal, ${same.column} from keyed k join first f on f.key = k.key and k.ordinal > f.ordinal ${same.join}
     )`;
}

/** As `laterWith`, of credential ids. */
function laterWithPasskey({ entriesOf }: Duplicates): string {
  return `keyed as materialized (
       select i.ordinal, k.id as key
       from import_items i cross join lateral jsonb_to_recordset(i.extras -> 'passkeys') as k (id text)
       where i.import_id = $3 and i.state = 'pending' and i.sign_in & ${PASSKEY_FACTS} <> 0
         ${entriesOf ? `and ${WITHOUT_VERDICT}` : ''}
     ),
     first as (select key, min(ordinal) as ordinal from keyed group by key having count(*) > 1),
     later as (
       select distinct k.ordinal, false as same_org from keyed k join first f on f.key = k.key and k.ordinal > f.ordinal
     )`;
}

async function settleLater(
  db: Db,
  { importId, entriesOf }: Duplicates,
  later: string,
  { outcome, counts }: LaterOutcome,
  error: unknown,
): Promise<void> {
  const lost = entriesOf
    ? `insert into import_items (import_id, ordinal, org_index, user_id, user_name, state, error)
       select $1, i.ordinal, i.org_index, i.user_id, i.user_name, ${outcome.state}, ${outcome.error}
       from later l join import_items i on i.import_id = $3 and i.ordinal = l.ordinal returning org_index, state`
    : `update import_items i set state = ${outcome.state}, error = ${outcome.error}${outcome.data}
       from later l where i.import_id = $3 and i.ordinal = l.ordinal returning i.org_index, i.state`;
  await db.query(
    `with ${later},
     lost as (${lost}),
     counted as (
       select org_index, count(*) filter (where state = 'failed')::int as failed,
         count(*) filter (where state = 'skipped')::int as skipped
       from lost group by org_index
     )
     update import_orgs o set ${counts} from counted c where o.import_id = $1 and o.org_index = c.org_index`,
    [importId, JSON.stringify(error), entriesOf ?? importId],
  );
}

/** SQL over an entry `i` of a draft: the check `$1` has not settled it by an item of its own. */
const WITHOUT_VERDICT = 'not exists (select from import_items v where v.import_id = $1 and v.ordinal = i.ordinal)';

const failed = (erases: boolean) => ({
  same: { column: 'false as same_org', join: '' },
  outcome: { state: `'failed'::item_state`, error: '$2::jsonb', data: erases ? `, ${ERASED}` : '' },
  counts: 'failed = o.failed + c.failed',
});

const skippedOrFailed = (erases: boolean) => ({
  same: { column: 'k.org_id = h.org_id as same_org', join: 'join keyed h on h.ordinal = f.ordinal' },
  outcome: {
    state: `case when l.same_org then 'skipped'::item_state else 'failed' end`,
    error: 'case when l.same_org then null else $2::jsonb end',
    data: PAYLOAD.map(
      (column) => `, ${column} = case when ${erases ? 'false' : 'not l.same_org'} then i.${column} end`,
    ).join(''),
  },
  counts: 'failed = o.failed + c.failed, skipped = o.skipped + c.skipped',
});
