/**
 * The statement that writes a batch of users: users, events, metadata, links, second factors, codes, mails, item states
 * and counts. The rendered statements are in `src/imports/run/batch-statements.sql`.
 *
 * Guarantee: all or nothing, and nothing once the import is not running: as its last step the statement calls
 * settle_batch, which then raises MU001, and otherwise keeps the import's row locked until the commit. An item that is
 * not pending is not touched, so a late, repeated or frozen worker changes nothing. As it is one statement, this
 * process can do nothing between the check and the commit.
 */
import { sqlState } from '../../platform/db/faults.ts';
import type { Pool } from '../../platform/db/pool.ts';
import { errorBody } from '../../platform/errors.ts';
import { ERASED, itemsOfBatch, PAYLOAD, withinSorted } from '../entries/item.ts';
import type { ExistingRule } from '../entries/options.ts';
import { failuresCounted, JOIN_RAN, publishBatch, type SettledBatch } from '../entries/outcome.ts';

/** SQLSTATE of settle_batch when the import is past its deadline, paused, cancelled or done. */
export const NOT_RUNNING = 'MU001';

/**
 * Session settings of the batch writers' pool. A generic plan does not know the size of a batch and would join by
 * nested loops, quadratic in the batch size: hash joins suit a batch of any size.
 */
export const WRITER_SESSION = { enable_nestloop: 'off', plan_cache_mode: 'force_generic_plan' };

/** Batches after a conflict that are written with conflict handling. */
const CAREFUL_BATCHES = 50;
const UNIQUE_VIOLATION = '23505';

export interface BatchSettings {
  /** How long the codes of the mails are valid, in milliseconds. */
  codeTtlMs: number;
}

/** How a batch is written: by the rule of its import, or optimistically. */
export type BatchRule = ExistingRule | 'optimistic';

type SettledRow = Omit<SettledBatch, 'skipped'> & { settled: number };

/**
 * Writes the items of one import that are pending and need no hashing.
 * @param ordinals in ascending order, without duplicates
 * @param rule what happens to existing users: `optimistic` assumes that there are none, `update` leaves their items
 * pending for update-users.ts
 * @returns how many were settled: the others were not pending, still hold an encrypted password, or were left to
 * `update`
 * @throws pg.DatabaseError with code MU001 when the import is not running, or 23505 when a user of an optimistic batch
 *   exists; nothing is written then
 */
export async function writeBatch(
  pool: Pool,
  importId: string,
  ordinals: number[],
  settings: BatchSettings,
  rule: BatchRule = 'fail',
): Promise<number> {
  const values = [importId, ordinals, 'system', JSON.stringify({ importId }), settings.codeTtlMs];
  const errors = rule === 'update' || rule === 'optimistic' ? [] : [ID_TAKEN, NAME_TAKEN];
  const { rows } = await pool.query<SettledRow>({ ...STATEMENTS[rule], values: [...values, ...errors] });
  const [row] = rows;
  if (!row || row.settled === 0) return 0;
  publishBatch({ ...row, skipped: row.settled - row.succeeded - row.failed });
  return row.settled;
}

type Write = (importId: string, ordinals: number[], rule: BatchRule) => Promise<number>;

/**
 * Writes batches without conflict handling. On a unique violation, writes the batch again with conflict handling, and
 * keeps doing so for the import's next 50 batches, as an import that conflicts once usually conflicts again.
 */
export function optimistically(write: Write): (importId: string, ordinals: number[]) => Promise<number> {
  const careful = { importId: '', batches: 0 };
  return async (importId, ordinals) => {
    if (careful.importId === importId && careful.batches > 0) {
      careful.batches--;
      return write(importId, ordinals, 'fail');
    }
    try {
      return await write(importId, ordinals, 'optimistic');
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      careful.importId = importId;
      careful.batches = CAREFUL_BATCHES;
      return write(importId, ordinals, 'fail');
    }
  };
}

export const ERRORS = {
  idTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-ID-TAKEN',
    'A user with this userId already exists, or existed in another organization.',
  ),
  nameTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-NAME-TAKEN',
    'A user with this user name already exists in the organization.',
  ),
  twice: errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'This user appears earlier in this import.'),
  outranksCaller: errorBody('PERMISSION_DENIED', 'AUTH-PERMISSION', 'The caller is not allowed to modify this user.'),
  stopsOwner: errorBody('FAILED_PRECONDITION', 'IMPORT-IAM-OWNER', 'An import cannot lock or deactivate an IAM_OWNER.'),
} as const;

const ID_TAKEN = JSON.stringify(ERRORS.idTaken);
const NAME_TAKEN = JSON.stringify(ERRORS.nameTaken);

/** The ordinals are in ascending order, see `writeBatch`. */
const RANGE = withinSorted('$2');

/** Taken items have no encrypted password, and valid items have no encrypted entry. */
const UNSEALED = PAYLOAD.filter((column) => column !== 'password_sealed' && column !== 'entry_sealed');

/**
 * A deleted user of another organization keeps its id. The optimistic statement fails instead, by a trigger of users.
 */
const FREE_ID = 'not user_id_removed_elsewhere(user_id, org_id)';
const CREATED = 'join created c on c.sequence = p.sequence';
/** The payload of a written user is erased. */
const DONE = `state = 'succeeded', error = null,
    ${ERASED}`;

const WITHOUT_FAILURES = { returned: '', failures: '' };

const WITH_FAILURES = {
  returned: ', i.ordinal, i.error',
  failures: `${failuresCounted('settled')},
`,
};

/**
 * The parts of the statement that depend on what happens to items whose user exists: imports with `onExisting` fail,
 * skip or update. An import with `fail` pays no cost for the other two.
 */
interface ConflictRule {
  /** The condition for taking a pending item. A taken item needs hashing only if its user exists. */
  picked: string;
  /** Which of these items are inserted as users, and what happens on a conflict. */
  creatable: string;
  /** Joins the inserted users to `picked p`. */
  created: string;
  /** A further CTE between the users and the items, ending with a comma. */
  conflicted: string;
  /** The columns of an item that is settled. */
  outcome: string;
  /** The joins to `picked p` that `outcome` needs. */
  joined: string;
  /** Further counts of an organization. */
  counts: string;
  /** The sums of these counts. */
  sums: string;
  /** What is returned of the items and done with it, if items can fail. */
  returned: string;
  failures: string;
  /** How many items are settled. */
  settled: string;
  /** The call that counts them and checks that the import still runs. */
  settle: string;
}

/** Success erases the payload; a conflict keeps it for a retry. */
const fail: ConflictRule = {
  ...WITH_FAILURES,
  picked: 'i.password_sealed is null',
  creatable: `where ${FREE_ID} on conflict do nothing`,
  created: CREATED,
  conflicted: '',
  outcome: `state = case when c.id is not null then 'succeeded'::item_state else 'failed' end,
    error = case
      when c.id is not null then null
      when user_id_conflicts(p.user_id, p.org_id, p.user_name_key) then $6::jsonb
      else $7::jsonb end,
    ${payload(UNSEALED, 'c.id is null')}`,
  joined: 'left join created c on c.sequence = p.sequence',
  counts: '',
  sums: '',
  settled: 'succeeded + failed',
  settle: 'settle_batch($1, succeeded, failed, mails, events, orgs, org_succeeded, org_failed)',
};

const WITH_SKIPPED = {
  counts: `,
    count(*) filter (where state = 'skipped')::int as skipped`,
  sums: `,
    coalesce(sum(skipped), 0)::int as skipped, coalesce(array_agg(per_org.skipped), '{}') as org_skipped`,
  settled: 'succeeded + skipped + failed',
  settle: 'settle_outcomes($1, succeeded, skipped, failed, mails, orgs, org_succeeded, org_skipped, org_failed)',
};

/** An existing user needs no hash. An item that was sent without an id gets the id of the user with its name. */
const skip: ConflictRule = {
  ...WITH_FAILURES,
  ...WITH_SKIPPED,
  picked: `(i.password_sealed is null or existing_human(o.org_id, i.user_id, i.user_name_key) is not null)`,
  creatable: `where password_sealed is null and ${FREE_ID} on conflict do nothing`,
  created: CREATED,
  conflicted: `conflicted as materialized (
  select p.sequence, case when c.id is null then existing_human(p.org_id, p.user_id, p.user_name_key) end as existing
  from picked p left join created c on c.sequence = p.sequence
),
`,
  outcome: `state = case
      when c.id is not null then 'succeeded'::item_state when x.existing is not null then 'skipped' else 'failed' end,
    error = case
      when c.id is not null or x.existing is not null then null
      when user_id_conflicts(p.user_id, p.org_id, p.user_name_key) then $6::jsonb
      else $7::jsonb end,
    user_id = case when p.extras -> 'unsaid' ? 'userId' then coalesce(x.existing, i.user_id) else i.user_id end,
    ${payload(PAYLOAD, 'c.id is null and x.existing is null')}`,
  // An item with an encrypted password whose user was just deleted stays pending; its next run hashes the password.
  joined: `left join created c on c.sequence = p.sequence
    join conflicted x on x.sequence = p.sequence and (p.password_sealed is null or x.existing is not null)`,
};

/** Existing users are left to update-users.ts. */
const update: ConflictRule = {
  ...WITH_SKIPPED,
  ...WITHOUT_FAILURES,
  picked: fail.picked,
  creatable: `where ${FREE_ID} on conflict do nothing`,
  created: CREATED,
  conflicted: '',
  outcome: DONE,
  joined: CREATED,
};

/**
 * Assumes that none of the users exists; if one does, the whole statement fails. Without `on conflict`, PostgreSQL
 * checks no index before it inserts, and has no speculative insertion to confirm (src/backend/executor/README in its
 * source).
 */
const optimistic: ConflictRule = {
  ...fail,
  ...WITHOUT_FAILURES,
  creatable: '',
  created: '',
  outcome: DONE,
  joined: '',
};

const CONFLICT_RULES: Record<BatchRule, ConflictRule> = { fail, skip, update, optimistic };

/** Keeps each column where `kept` is true, and erases it elsewhere. */
function payload(columns: readonly string[], kept: string): string {
  return columns.map((column) => `${column} = case when ${kept} then i.${column} end`).join(',\n    ');
}

const HEADER = '-- Generated by `npm run schema` from src/imports/run/write-batch.ts; not to be edited.\n';

/**
 * The rendered statements, so that a change of their parts shows its effect in review: `npm run schema` writes them to
 * `src/imports/run/batch-statements.sql`, and a test compares the two.
 */
export function describeStatements(): string {
  return [HEADER, ...Object.values(STATEMENTS).map(({ name, text }) => `-- ${name}\n${text.trim()};\n`)].join('\n');
}

const STATEMENTS: Record<BatchRule, { name: string; text: string }> = {
  optimistic: { name: 'write-batch-optimistic', text: statement(CONFLICT_RULES.optimistic) },
  fail: { name: 'write-batch', text: statement(CONFLICT_RULES.fail) },
  skip: { name: 'write-batch-skip', text: statement(CONFLICT_RULES.skip) },
  update: { name: 'write-batch-update', text: statement(CONFLICT_RULES.update) },
};

// Every CTE scan of `picked` reads a row up to the last column that it needs, so those that all of them need come first,
// and columns that none needs are left out.
// Intake has normalized names to NFC and lower case. `written` reads the results of all inserts: a data-modifying WITH
// runs to completion when its result is read, so every row exists before the batch is settled.
function statement(rule: ConflictRule): string {
  return `
with picked as materialized (
  select i.ordinal, nextval('events_sequence_seq') as sequence, i.user_id, o.org_id, i.extras, i.totp_sealed,
    i.user_state,
    case when i.user_state = 'active' and i.password_hash is null then 'initial' else i.user_state end as new_state,
    i.email_verified, i.phone_verified, i.password_hash, i.password_sealed, i.email, i.user_name, i.user_name_key,
    i.given_name, i.family_name, i.nick_name, i.display_name, i.preferred_language, i.gender, i.email_key, i.phone,
    i.password_change_required
  from ${itemsOfBatch('$2', RANGE)} join import_orgs o on o.import_id = $1 and o.org_index = i.org_index
  where i.state = 'pending' and ${rule.picked}
  order by i.ordinal
),
created as (
  insert into users (
    id, org_id, kind, state, user_name, user_name_key, given_name, family_name, nick_name, display_name,
    preferred_language, gender, email, email_key, email_verified, phone, phone_verified, password_hash,
    password_changed_at, password_change_required, import_id, sequence)
  select
    user_id, org_id, 'human', new_state, user_name, user_name_key, given_name, family_name, nick_name, display_name,
    preferred_language, gender, email, email_key, email_verified, phone, phone_verified, password_hash,
    case when password_hash is not null then now() end, password_change_required, $1, sequence
  from picked ${rule.creatable}
  returning id, sequence
),
events_added as (
  insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select p.sequence, 'user', p.user_id, p.org_id, 'user.human.imported', $3, $4
  from picked p ${rule.created}
  returning 1
),
metadata_added as (
  insert into user_metadata (user_id, key, value)
  select p.user_id, m.key, decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64')
  from picked p ${rule.created},
    jsonb_to_recordset(p.extras -> 'metadata') as m (key text, value text)
  where p.extras is not null
  returning 1
),
links_added as (
  insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
  select p.user_id, l."configId", l."externalUserId", l."displayName"
  from picked p ${rule.created},
    jsonb_to_recordset(p.extras -> 'idps') as l ("configId" text, "externalUserId" text, "displayName" text)
  where p.extras is not null
  returning 1
),
totp_added as (
  insert into user_totp (user_id, secret, confirmed_at)
  select p.user_id, p.totp_sealed, now()
  from picked p ${rule.created}
  where p.totp_sealed is not null
  returning 1
),
codes_added as (
  insert into codes (user_id, purpose, expires_at)
  select p.user_id, case when p.password_hash is null then 'initialise'::mail_kind else 'verify_email' end,
    now() + $5 * interval '1 millisecond'
  from picked p ${rule.created}
  where p.user_state = 'active' and p.email is not null and (p.password_hash is null or not p.email_verified)
  returning id, user_id, purpose
),
mails_added as (
  insert into mail_outbox (kind, user_id, code_id, import_id)
  select purpose, user_id, id, $1 from codes_added
  returning 1
),
written as materialized (
  select
    (select count(*)::int from created) as users,
    (select count(*)::int from events_added) as events,
    (select count(*)::int from metadata_added) as metadata,
    (select count(*)::int from links_added) as links,
    (select count(*)::int from totp_added) as second_factors,
    (select count(*)::int from mails_added) as mails
),
${rule.conflicted}settled as (
  update import_items i set
    ${rule.outcome}
  from picked p ${rule.joined}
  where ${RANGE} and i.ordinal = p.ordinal and i.state = 'pending'
  returning i.org_index, i.state${rule.returned}
),
${rule.failures}per_org as (
  select org_index, count(*) filter (where state = 'succeeded')::int as succeeded,
    count(*) filter (where state = 'failed')::int as failed${rule.counts}
  from settled group by org_index
),
done as (
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(failed), 0)::int as failed,
    coalesce(array_agg(org_index), '{}') as orgs, coalesce(array_agg(per_org.succeeded), '{}') as org_succeeded,
    coalesce(array_agg(per_org.failed), '{}') as org_failed${rule.sums}
  from per_org
)
select ${rule.settled} as settled, succeeded, failed, case when ${rule.settled} > 0 then ${rule.settle} end as state,
  ran.*
from done cross join written ${JOIN_RAN}`;
}
