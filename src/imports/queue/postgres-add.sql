-- Adds many jobs that differ only in their id and data, as `add_jobs_bulk` of BullMQ 6.7 does, without temporary tables and
-- without the events that BullMQ would remove before long.
--
-- On failure: all or nothing, as any statement. An id that exists already changes nothing.
--
-- Times are in ms since 1970. `data` is JSON by job; with `lifo` the jobs run before all others.
with added as (
  insert into job (queue, id, seq, name, state, data, opts, max_attempts, added_at_ms)
  -- The numbers are drawn after the sorting, so they rise with the order of the jobs.
  select :queue, id, nextval('job_seq') * case when :lifo then -1 else 1 end, :name, 'waiting', data::jsonb, :options::jsonb, :attempts, :now
  from unnest(:ids::text[], :data::text[]) with ordinality as e (id, data, ord) order by ord
  on conflict (queue, id) do nothing
  returning id, seq
),
kept as materialized (
  select coalesce((select value::integer from meta where queue = :queue and field = 'opts.maxLenEvents'), 10000) as most
),
newest as (
  select abs(seq) * 2 as place, 'added' as event, jsonb_build_object('jobId', id, 'name', :name::text) as data from added
  union all
  select abs(seq) * 2 + 1, 'waiting', jsonb_build_object('jobId', id) from added
  order by place desc limit (select case when most > 0 then most end from kept)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select :queue, event, data, (extract(epoch from clock_timestamp()) * 1000)::bigint from newest order by place
)
select pg_notify('bullmq_jobs', :queue) from added limit 1
