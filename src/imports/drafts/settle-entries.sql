-- The last step of a batch of a check: adds an item for each entry with an outcome to tell, and counts all of them.
--
-- `items` is a JSON array of ordinal, state, user_id, error, changed, sign_in and links; `created` has the organization's number
-- of each entry that would be created. The other entries are those of the draft, from `from` up to `to`.
with told as (
  insert into import_items (import_id, ordinal, org_index, state, user_id, user_name, error, changed, sign_in, links)
  select :checkId, i.ordinal, i.org_index, v.state, coalesce(v.user_id, i.user_id), i.user_name, v.error,
    (select array_agg(name) from jsonb_array_elements_text(v.changed) as name), coalesce(v.sign_in, i.sign_in),
    case when v.links is null then i.links else array(select jsonb_array_elements_text(v.links)) end
  from jsonb_to_recordset(:items) as v (ordinal int, state item_state, user_id text, error jsonb, changed jsonb, sign_in int, links jsonb)
    join import_items i on i.import_id = :draftId and i.ordinal >= :from and i.ordinal < :to and i.ordinal = v.ordinal
  returning ordinal, org_index, state, error
),
-- Sorts the ordinals of each error, as sorting the errors with them takes longer; keeps `FIRST` of entries/outcome.ts.
failures_counted as (
  insert into import_failures (import_id, error, users, first)
  select :checkId, error, cardinality(ordinals), array(select o from unnest(ordinals) as o order by o limit 5)
  from (select error, array_agg(ordinal) as ordinals from told where state = 'failed' group by error) alike
),
created as (
  select org_index, count(*)::int as n from unnest(:created::int[]) as org_index group by org_index
),
per_org as (
  select org_index, sum(succeeded)::int as succeeded, sum(skipped)::int as skipped, sum(failed)::int as failed
  from (
    select org_index, (state = 'succeeded')::int as succeeded, (state = 'skipped')::int as skipped,
      (state = 'failed')::int as failed from told
    union all select org_index, n, 0, 0 from created) one
  group by org_index
),
done as (
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(skipped), 0)::int as skipped,
    coalesce(sum(failed), 0)::int as failed, coalesce(array_agg(org_index), '{}') as orgs,
    coalesce(array_agg(per_org.succeeded), '{}') as org_succeeded,
    coalesce(array_agg(per_org.skipped), '{}') as org_skipped, coalesce(array_agg(per_org.failed), '{}') as org_failed
  from per_org
)
select succeeded, skipped, failed, ran.*,
  settle_outcomes(:checkId, succeeded, skipped, failed, :mails, orgs, org_succeeded, org_skipped, org_failed) as state
from done left join (
  -- The columns `RAN` of entries/outcome.ts.
  select id as "importId", kind, dry_run as "dryRun",
    extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds
  from imports where id = :checkId) ran on true
