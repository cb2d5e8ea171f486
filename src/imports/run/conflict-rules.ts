/**
 * What the statement of write-batch.ts does about items whose user exists, in SQL: the parts in which imports with
 * `onExisting` fail, skip and update differ. The usual import fails them, and pays nothing for the others.
 */
import { PAYLOAD } from '../items.ts';
import type { ExistingRule } from '../options.ts';

export interface ConflictRule {
  /** Of pending items, which are taken: those who need no hashing, at least. */
  picked: string;
  /** Of these, who may become new users; ends with what a conflict does. */
  creatable: string;
  /** Joins those who did become users to `picked p`. */
  created: string;
  /** A step between the users and the items, ending with a comma. */
  conflicted: string;
  /** What becomes of the items, and of which. */
  outcome: string;
  joined: string;
  counts: string;
  sums: string;
  settled: string;
  settle: string;
}

const WRITTEN = `(select count(*)::int from events_added) + 0 * (select count(*)::int from metadata_added)
      + 0 * (select count(*)::int from links_added) + 0 * (select count(*)::int from totp_added)`;

/** `i.x` where `kept` holds, else nothing. */
function payload(columns: readonly string[], kept: string): string {
  return columns.map((column) => `${column} = case when ${kept} then i.${column} end`).join(',\n    ');
}

/** Items that are taken hold no sealed password; valid ones no sealed entry. */
const UNSEALED = PAYLOAD.filter((column) => column !== 'password_sealed' && column !== 'entry_sealed');

const CREATED = 'join created c on c.sequence = p.sequence';
/** Of who is written the payload goes. */
const DONE = `state = 'succeeded', error = null,
    ${PAYLOAD.map((column) => `${column} = null`).join(', ')}`;

/** The payload goes with success; a conflict keeps it for a retry. */
const fail: ConflictRule = {
  picked: 'i.password_sealed is null',
  creatable: 'on conflict do nothing',
  created: CREATED,
  conflicted: '',
  outcome: `state = case when c.id is not null then 'succeeded'::item_state else 'failed' end,
    error = case
      when c.id is not null then null
      when user_id_taken(p.user_id) then $6::jsonb
      else $7::jsonb end,
    ${payload(UNSEALED, 'c.id is null')}`,
  joined: 'left join created c on c.sequence = p.sequence',
  counts: '',
  sums: '',
  settled: 'succeeded + failed',
  settle: `settle_batch(
    $1, succeeded, failed,
    (select count(*)::int from mails_added),
    ${WRITTEN},
    orgs, org_succeeded, org_failed)`,
};

const WITH_SKIPPED = {
  counts: `,
    count(*) filter (where state = 'skipped')::int as skipped`,
  sums: `,
    coalesce(sum(skipped), 0)::int as skipped, coalesce(array_agg(per_org.skipped), '{}') as org_skipped`,
  settled: 'succeeded + skipped + failed',
  settle: `settle_outcomes(
    $1, succeeded, skipped, failed,
    (select count(*)::int from mails_added) + 0 * (${WRITTEN}),
    orgs, org_succeeded, org_skipped, org_failed)`,
};

/** Who exists needs no hash. Who sent no id is shown with that of the user who has the name. */
const skip: ConflictRule = {
  ...WITH_SKIPPED,
  picked: `(i.password_sealed is null or existing_human(o.org_id, i.user_id, i.user_name_key) is not null)`,
  creatable: 'where password_sealed is null on conflict do nothing',
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
      when user_id_taken(p.user_id) then $6::jsonb
      else $7::jsonb end,
    user_id = case when p.extras -> 'unsaid' ? 'userId' then coalesce(x.existing, i.user_id) else i.user_id end,
    ${payload(PAYLOAD, 'c.id is null and x.existing is null')}`,
  // A sealed one whose user went away in this very moment stays as it is, and comes again to be hashed.
  joined: `left join created c on c.sequence = p.sequence
    join conflicted x on x.sequence = p.sequence and (p.password_sealed is null or x.existing is not null)`,
};

/** Who exists is left to existing/update-batch.ts. */
const update: ConflictRule = {
  ...WITH_SKIPPED,
  picked: fail.picked,
  creatable: 'on conflict do nothing',
  created: CREATED,
  conflicted: '',
  outcome: DONE,
  joined: CREATED,
};

/**
 * Nobody exists, or the whole batch is refused: PostgreSQL then needs not look for each before it writes, and not mark what
 * it wrote as good afterwards (its README.speculative-insertion).
 */
const optimistic: ConflictRule = {
  ...fail,
  creatable: '',
  created: '',
  outcome: DONE,
  joined: '',
  settle: `settle_batch(
    $1, succeeded, failed,
    (select count(*)::int from mails_added),
    ${WRITTEN} + 0 * (select count(*)::int from created),
    orgs, org_succeeded, org_failed)`,
};

/** How a batch is written: by what the caller asked for, or in the short way. */
export type BatchRule = ExistingRule | 'optimistic';

export const CONFLICT_RULES: Record<BatchRule, ConflictRule> = { fail, skip, update, optimistic };
