-- Hands out the next jobs of a queue, as `move_to_active` of BullMQ 6.7 does for each of them.
--
-- It does the simple case only: a queue that is neither paused nor limited and has no delayed jobs. Where that does not hold it
-- changes nothing and returns one row whose `holds` is false; the caller then calls BullMQ's function for each job. Otherwise
-- it returns a row for each token that gets a job, or one row without a job if none waits.
--
-- On failure: all or nothing, as any statement. It waits for no row: jobs that others have locked are left to them.
--
-- Events that BullMQ would remove before long are not written; old ones are removed when jobs complete.
--
-- $1 queue, $2 lock tokens, $3 now in ms, $4 duration of a lock in ms, $5 name of the worker
with simple as materialized (
  select not exists (select from meta where queue = $1 and field in ('paused', 'concurrency', 'max'))
    and not exists (select from job where queue = $1 and state = 'delayed') as holds
),
waiting as materialized (
  select ctid as place, id, seq, priority from job where queue = $1 and state = 'waiting' order by priority, seq
  limit (select case when holds then cardinality($2::text[]) else 0 end from simple)
  for update skip locked
),
next as materialized (
  select place, ($2::text[])[ord] as token, ord
  from (select *, row_number() over (order by priority, seq) as ord from waiting) w
),
-- By its place, for the reasons given in postgres-complete.sql.
claimed as (
  update job j set state = 'active', lock_token = n.token, locked_until_ms = $3::bigint + $4::bigint,
    processed_at_ms = $3::bigint, processed_by = $5, attempts_started = attempts_started + 1
  from next n where j.ctid = n.place
  returning j.*, n.ord
),
newest as (
  select ord, id from claimed order by ord desc limit (select case when most > 0 then most end from (
    select coalesce((select value::integer from meta where queue = $1 and field = 'opts.maxLenEvents'), 10000) as most) k)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select $1, 'active', jsonb_build_object('jobId', id, 'prev', 'waiting'), (extract(epoch from clock_timestamp()) * 1000)::bigint
  from newest order by ord
),
told as materialized (
  select case when pg_try_advisory_xact_lock(hashtext('bullmq:evnotify:' || $1))
    then pg_notify('bullmq_events', $1) end where exists (select from claimed)
)
select s.holds, c.* from simple s cross join (select count(*) from told) t left join claimed c on true order by c.ord
