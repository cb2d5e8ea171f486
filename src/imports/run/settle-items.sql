-- The last step of a batch whose items were judged one by one: writes states and counts.
--
-- `items` is a JSON array of ordinal, state, user_id, error, changed, sign_in and links; the ordinals are those of its elements, in any
-- order. Why items need a range of them too: `withinBatch` of entries/item.ts.
with settled as (
  update import_items i set
    state = v.state, error = v.error, user_id = coalesce(v.user_id, i.user_id),
    changed = (select array_agg(name) from jsonb_array_elements_text(v.changed) as name),
    sign_in = coalesce(v.sign_in, i.sign_in),
    links = case when v.links is null then i.links else array(select jsonb_array_elements_text(v.links)) end,
    -- A failed item keeps its payload for a retry, unless it is erased too.
    user_name_key = case when v.state = 'failed' and not :erase then i.user_name_key end,
    user_state = case when v.state = 'failed' and not :erase then i.user_state end,
    given_name = case when v.state = 'failed' and not :erase then i.given_name end,
    family_name = case when v.state = 'failed' and not :erase then i.family_name end,
    nick_name = case when v.state = 'failed' and not :erase then i.nick_name end,
    display_name = case when v.state = 'failed' and not :erase then i.display_name end,
    preferred_language = case when v.state = 'failed' and not :erase then i.preferred_language end,
    gender = case when v.state = 'failed' and not :erase then i.gender end,
    email = case when v.state = 'failed' and not :erase then i.email end,
    email_key = case when v.state = 'failed' and not :erase then i.email_key end,
    email_verified = case when v.state = 'failed' and not :erase then i.email_verified end,
    phone = case when v.state = 'failed' and not :erase then i.phone end,
    phone_verified = case when v.state = 'failed' and not :erase then i.phone_verified end,
    password_hash = case when v.state = 'failed' and not :erase then i.password_hash end,
    password_sealed = case when v.state = 'failed' and not :erase then i.password_sealed end,
    totp_sealed = case when v.state = 'failed' and not :erase then i.totp_sealed end,
    password_change_required = case when v.state = 'failed' and not :erase then i.password_change_required end,
    extras = case when v.state = 'failed' and not :erase then i.extras end,
    entry_sealed = case when v.state = 'failed' and not :erase then i.entry_sealed end
  from jsonb_to_recordset(:items) as v (ordinal int, state item_state, user_id text, error jsonb, changed jsonb, sign_in int, links jsonb)
  where i.import_id = :importId
    and i.ordinal between (select min(o) from unnest(:ordinals::int[]) as o)
      and (select max(o) from unnest(:ordinals::int[]) as o)
    and i.ordinal = v.ordinal and i.state = 'pending'
  returning i.org_index, i.state, i.ordinal, i.error
),
-- Sorts the ordinals of each error, as sorting the errors with them takes longer; keeps `FIRST` of entries/outcome.ts.
failures_counted as (
  insert into import_failures (import_id, error, users, first)
  select :importId, error, cardinality(ordinals), array(select o from unnest(ordinals) as o order by o limit 5)
  from (select error, array_agg(ordinal) as ordinals from settled where state = 'failed' group by error) alike
),
per_org as (
  select org_index, count(*) filter (where state = 'succeeded')::int as succeeded,
    count(*) filter (where state = 'skipped')::int as skipped, count(*) filter (where state = 'failed')::int as failed
  from settled group by org_index
),
done as (
  select sum(succeeded)::int as succeeded, sum(skipped)::int as skipped, sum(failed)::int as failed,
    array_agg(org_index) as orgs, array_agg(per_org.succeeded) as org_succeeded,
    array_agg(per_org.skipped) as org_skipped, array_agg(per_org.failed) as org_failed
  from per_org having count(*) > 0
)
-- Raises MU001 when the import does not run.
select succeeded, skipped, failed, ran.*,
  settle_outcomes(:importId, succeeded, skipped, failed, :mails, orgs, org_succeeded, org_skipped, org_failed) as state
from done left join (
  -- The columns `RAN` of entries/outcome.ts.
  select id as "importId", kind, dry_run as "dryRun",
    extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds
  from imports where id = :importId) ran on true
