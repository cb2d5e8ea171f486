-- Adds many jobs that differ only in their id and data, as `add_jobs_bulk` of BullMQ 6.7 does, without temporary tables and
-- without the events that BullMQ would remove before long.
--
-- On failure: all or nothing, as any statement. An id that exists already changes nothing.
--
-- $1 queue, $2 name, $3 options, $4 ids, $5 data as JSON, $6 time in ms, $7 attempts, $8 whether they run before all others
with added as (
  insert into job (queue, id, seq, name, state, data, opts, max_attempts, added_at_ms)
  -- The numbers are drawn after the sorting, so they rise with the order of the jobs.
  select $1, id, nextval('job_seq') * case when $8 then -1 else 1 end, $2, 'waiting', data::jsonb, $3::jsonb, $7, $6
  from unnest($4::text[], $5::text[]) with ordinality as e (id, data, ord) order by ord
  on conflict (queue, id) do nothing
  returning id, seq
),
kept as materialized (
  select coalesce((select value::integer from meta where queue = $1 and field = 'opts.maxLenEvents'), 10000) as most
),
newest as (
  select abs(seq) * 2 as place, 'added' as event, jsonb_build_object('jobId', id, 'name', $2::text) as data from added
  union all
  select abs(seq) * 2 + 1, 'waiting', jsonb_build_object('jobId', id) from added
  order by place desc limit (select case when most > 0 then most end from kept)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select $1, event, data, (extract(epoch from clock_timestamp()) * 1000)::bigint from newest order by place
)
select pg_notify('bullmq_jobs', $1) from added limit 1
