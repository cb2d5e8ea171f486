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
-- `tokens` are those of the locks, one for each job; `now` is in ms since 1970.
with simple as materialized (
  select not exists (select from meta where queue = :queue and field in ('paused', 'concurrency', 'max'))
    and not exists (select from job where queue = :queue and state = 'delayed') as holds
),
waiting as materialized (
  select ctid as place, id, seq, priority from job where queue = :queue and state = 'waiting' order by priority, seq
  limit (select case when holds then cardinality(:tokens::text[]) else 0 end from simple)
  for update skip locked
),
next as materialized (
  select place, (:tokens::text[])[ord] as token, ord
  from (select *, row_number() over (order by priority, seq) as ord from waiting) w
),
-- By its place, for the reasons given in postgres-complete.sql.
claimed as (
  update job j set state = 'active', lock_token = n.token, locked_until_ms = :now::bigint + :lockMs::bigint,
    processed_at_ms = :now::bigint, processed_by = :workerName, attempts_started = attempts_started + 1
  from next n where j.ctid = n.place
  returning j.*, n.ord
),
newest as (
  select ord, id from claimed order by ord desc limit (select case when most > 0 then most end from (
    select coalesce((select value::integer from meta where queue = :queue and field = 'opts.maxLenEvents'), 10000) as most) k)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select :queue, 'active', jsonb_build_object('jobId', id, 'prev', 'waiting'), (extract(epoch from clock_timestamp()) * 1000)::bigint
  from newest order by ord
),
told as materialized (
  select case when pg_try_advisory_xact_lock(hashtext('bullmq:evnotify:' || :queue))
    then pg_notify('bullmq_events', :queue) end where exists (select from claimed)
)
select s.holds, c.* from simple s cross join (select count(*) from told) t left join claimed c on true order by c.ord
