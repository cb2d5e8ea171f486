/**
 * The one statement that writes a batch of users: users, events, metadata, links, codes, mails, item states, counts.
 *
 * Guarantee: all or nothing, and nothing once the import does not run (settle_batch raises MU001 as the statement's last
 * act, with the import's row locked until the commit). An item that is not pending is left alone, so a late, doubled or
 * zombie worker changes nothing. One statement, so there is no moment of ours between the guard and the commit.
 */
import type pg from 'pg';
import type { Pool } from '../db/pool.ts';
import { errorBody } from '../errors.ts';

/** SQLSTATE of settle_batch when the import is at its deadline, paused, cancelled or done. */
export const NOT_RUNNING = 'MU001';

const ID_TAKEN = JSON.stringify(
  errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'A user with this userId exists already.'),
);
const NAME_TAKEN = JSON.stringify(
  errorBody('ALREADY_EXISTS', 'USER-NAME-TAKEN', 'A user with this user name exists in the organization already.'),
);

// Names are NFC and lower-cased by intake. `events_added` and the others stand in the last select so that they are
// done before settle_batch is called: PostgreSQL runs a data-modifying WITH to its end when its result is read.
const WRITE = `
with picked as materialized (
  select i.*, o.org_id, nextval('events_sequence_seq') as sequence,
    case when i.user_state = 'active' and i.password_hash is null then 'initial' else i.user_state end as new_state
  from import_items i join import_orgs o on o.import_id = i.import_id and o.org_index = i.org_index
  where i.import_id = $1 and i.ordinal = any($2::int[]) and i.state = 'pending' and i.password_sealed is null
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
    case when password_hash is not null then now() end, password_change_required, import_id, sequence
  from picked
  on conflict do nothing
  returning id, sequence
),
events_added as (
  insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select p.sequence, 'user', p.user_id, p.org_id, 'user.human.imported', $3, $4
  from picked p join created c on c.sequence = p.sequence
  returning 1
),
metadata_added as (
  insert into user_metadata (user_id, key, value)
  select p.user_id, m.key, decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64')
  from picked p join created c on c.sequence = p.sequence,
    jsonb_to_recordset(p.extras -> 'metadata') as m (key text, value text)
  where p.extras is not null
  returning 1
),
links_added as (
  insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
  select p.user_id, l."configId", l."externalUserId", l."displayName"
  from picked p join created c on c.sequence = p.sequence,
    jsonb_to_recordset(p.extras -> 'idps') as l ("configId" text, "externalUserId" text, "displayName" text)
  where p.extras is not null
  returning 1
),
codes_added as (
  insert into codes (user_id, purpose, expires_at)
  select p.user_id, case when p.password_hash is null then 'initialise'::mail_kind else 'verify_email' end,
    now() + $5 * interval '1 millisecond'
  from picked p join created c on c.sequence = p.sequence
  where p.user_state = 'active' and (p.password_hash is null or not p.email_verified)
  returning id, user_id, purpose
),
mails_added as (
  insert into mail_outbox (kind, user_id, code_id, import_id)
  select purpose, user_id, id, $1 from codes_added
  returning 1
),
settled as (
  update import_items i set
    state = case when c.id is not null then 'succeeded'::item_state else 'failed' end,
    error = case
      when c.id is not null then null
      when user_id_taken(p.user_id) then $6::jsonb
      else $7::jsonb end,
    -- The payload goes with success; a clash keeps it for a retry.
    user_name_key = case when c.id is null then i.user_name_key end,
    user_state = case when c.id is null then i.user_state end,
    given_name = case when c.id is null then i.given_name end,
    family_name = case when c.id is null then i.family_name end,
    nick_name = case when c.id is null then i.nick_name end,
    display_name = case when c.id is null then i.display_name end,
    preferred_language = case when c.id is null then i.preferred_language end,
    gender = case when c.id is null then i.gender end,
    email = case when c.id is null then i.email end,
    email_key = case when c.id is null then i.email_key end,
    email_verified = case when c.id is null then i.email_verified end,
    phone = case when c.id is null then i.phone end,
    phone_verified = case when c.id is null then i.phone_verified end,
    password_hash = case when c.id is null then i.password_hash end,
    password_change_required = case when c.id is null then i.password_change_required end,
    extras = case when c.id is null then i.extras end
  from picked p left join created c on c.sequence = p.sequence
  where i.import_id = $1 and i.ordinal = any($2::int[]) and i.ordinal = p.ordinal and i.state = 'pending'
  returning i.org_index, i.state
),
per_org as (
  select org_index, count(*) filter (where state = 'succeeded')::int as succeeded,
    count(*) filter (where state = 'failed')::int as failed
  from settled group by org_index
),
done as (
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(failed), 0)::int as failed,
    coalesce(array_agg(org_index), '{}') as orgs, coalesce(array_agg(per_org.succeeded), '{}') as org_succeeded,
    coalesce(array_agg(per_org.failed), '{}') as org_failed
  from per_org
)
select succeeded + failed as settled,
  case when succeeded + failed > 0 then settle_batch(
    $1, succeeded, failed,
    (select count(*)::int from mails_added),
    (select count(*)::int from events_added) + 0 * (select count(*)::int from metadata_added)
      + 0 * (select count(*)::int from links_added),
    orgs, org_succeeded, org_failed) end as state
from done`;

export interface BatchSettings {
  /** How long the codes of the mails are good for. */
  codeTtlMs: number;
}

/**
 * Writes the items of one import that are pending and need no hashing.
 * @param ordinals in ascending order
 * @returns how many were settled: the others were not pending, or still hold a sealed password
 * @throws pg.DatabaseError with code MU001 when the import does not run; then nothing was written
 */
export async function writeBatch(
  pool: Pool,
  importId: string,
  ordinals: number[],
  settings: BatchSettings,
): Promise<number> {
  const query: pg.QueryConfig = {
    name: 'write-batch',
    text: WRITE,
    values: [importId, ordinals, 'system', JSON.stringify({ importId }), settings.codeTtlMs, ID_TAKEN, NAME_TAKEN],
  };
  const { rows } = await pool.query<{ settled: number }>(query);
  return rows[0]?.settled ?? 0;
}

/**
 * The pool of the batch writers. The size of a batch is unknown to a prepared plan, which would then join by nested
 * loops, quadratic in the batch: hash joins are right for a batch of any size.
 */
export const WRITER_SESSION = '-c enable_nestloop=off -c plan_cache_mode=force_generic_plan';
