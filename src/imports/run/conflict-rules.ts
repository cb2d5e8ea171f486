/**
 * The parts of the batch statement (write-batch.ts) that depend on what happens to items whose user exists: imports
 * with `onExisting` fail, skip or update. An import with `fail` pays no cost for the other two. The rendered statements
 * are in `src/db/batch-statements.sql`.
 */
import { failuresCounted } from '../failures.ts';
import { PAYLOAD } from '../items.ts';
import type { ExistingRule } from '../options.ts';

export interface ConflictRule {
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

/** Keeps each column where `kept` is true, and erases it elsewhere. */
function payload(columns: readonly string[], kept: string): string {
  return columns.map((column) => `${column} = case when ${kept} then i.${column} end`).join(',\n    ');
}

/** Taken items have no encrypted password, and valid items have no encrypted entry. */
const UNSEALED = PAYLOAD.filter((column) => column !== 'password_sealed' && column !== 'entry_sealed');

/** A deleted user of another organization keeps its id. The optimistic statement fails instead, by a trigger of users. */
const FREE_ID = 'not user_id_removed_elsewhere(user_id, org_id)';
const CREATED = 'join created c on c.sequence = p.sequence';
/** The payload of a written user is erased. */
const DONE = `state = 'succeeded', error = null,
    ${PAYLOAD.map((column) => `${column} = null`).join(', ')}`;

const WITHOUT_FAILURES = { returned: '', failures: '' };

const WITH_FAILURES = {
  returned: ', i.ordinal, i.error',
  failures: `${failuresCounted('settled')},
`,
};

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
      when user_id_taken(p.user_id, p.org_id) then $6::jsonb
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
      when user_id_taken(p.user_id, p.org_id) then $6::jsonb
      else $7::jsonb end,
    user_id = case when p.extras -> 'unsaid' ? 'userId' then coalesce(x.existing, i.user_id) else i.user_id end,
    ${payload(PAYLOAD, 'c.id is null and x.existing is null')}`,
  // An item with an encrypted password whose user was just deleted stays pending; its next run hashes the password.
  joined: `left join created c on c.sequence = p.sequence
    join conflicted x on x.sequence = p.sequence and (p.password_sealed is null or x.existing is not null)`,
};

/** Existing users are left to existing/update-batch.ts. */
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

/** How a batch is written: by the rule of its import, or optimistically. */
export type BatchRule = ExistingRule | 'optimistic';

export const CONFLICT_RULES: Record<BatchRule, ConflictRule> = { fail, skip, update, optimistic };
