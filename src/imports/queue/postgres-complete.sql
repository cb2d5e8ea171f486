-- Completes many jobs of a queue and hands out as many of the next ones, as `move_to_completed_fetch` of BullMQ 6.7 does for
-- each of them.
--
-- It does the simple case only: jobs that are removed when they end, without parent, children or deduplication, of a queue
-- that is neither paused nor limited and has no delayed jobs. Where a condition does not hold it changes nothing and returns
-- one row whose `holds` is false; the caller then calls BullMQ's function for each job. A job whose lock was lost is such a
-- condition. Otherwise it returns a row for each job that it hands out, with the number of the ended job whose place it
-- takes, or one row without a job if none waits.
--
-- On failure: all or nothing, as any statement. It fails when another transaction holds one of the ended jobs.
--
-- BullMQ's check for stalled jobs locks many rows in an order of its own. A statement that holds several rows must not wait
-- for one of them, so rows are locked at once or not at all. The advisory locks are BullMQ's own, taken in its order.
--
-- The table is nearly empty at rest, so plans are made for few rows and then used for thousands. Jobs are therefore found in
-- ways that leave no choice: by key for each row of a lateral join, and by their place (`ctid`) once they are locked. A plain
-- join read all jobs of the queue for each call.
--
-- `tokens` are those of the locks and `results` are JSON, each in the order of the ids; `now` is in ms since 1970.
with ending as materialized (
  select * from unnest(:ids::text[], :tokens::text[], :results::text[]) with ordinality as e (id, token, result, ord)
),
held as materialized (
  select j.is_simple from ending e, lateral (
    select state = 'active' and lock_token = e.token and parent_id is null and dedup_id is null as is_simple
    from job where queue = :queue and id = e.id for update nowait) j
  where (select pg_advisory_xact_lock_shared(hashtext('bullmq:finalization'), hashtext(:queue))) is not null
),
simple as materialized (
  select (select count(*) from held where is_simple) = cardinality(:ids::text[])
    and not exists (select from meta where queue = :queue and field in ('paused', 'concurrency', 'max'))
    and not exists (select from job where queue = :queue and state = 'delayed')
    and not exists (select from job_dependency where parent_queue = :queue and parent_id = any(:ids::text[])) as holds
),
waiting as materialized (
  select ctid as place, id, seq, priority from job where queue = :queue and state = 'waiting' order by priority, seq
  limit (select case when holds then cardinality(:ids::text[]) else 0 end from simple)
  for update skip locked
),
next as materialized (
  select place, id, (:tokens::text[])[ord] as token, ord
  from (select *, row_number() over (order by priority, seq) as ord from waiting) w
),
removed as (
  delete from job where queue = :queue and id = any(:ids::text[]) and (select holds from simple) returning 1
),
-- A job that another transaction changed since this statement began is not found: it keeps waiting.
claimed as (
  update job j set state = 'active', lock_token = n.token, locked_until_ms = :now::bigint + :lockMs::bigint,
    processed_at_ms = :now::bigint, processed_by = :workerName, attempts_started = attempts_started + 1
  from next n where j.ctid = n.place
  returning j.*, n.ord
),
kept as materialized (
  select coalesce((select value::integer from meta where queue = :queue and field = 'opts.maxLenEvents'), 10000) as most
),
-- Not the events that BullMQ would remove before long.
newest as (
  select 2 * e.ord as place, 'completed' as event,
    jsonb_build_object('jobId', e.id, 'returnvalue', e.result::jsonb::text, 'prev', 'active') as data
  from ending e where (select holds from simple)
  union all
  select 2 * ord + 1, 'active', jsonb_build_object('jobId', id, 'prev', 'waiting') from claimed
  order by place desc limit (select case when most > 0 then most end from kept)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select :queue, event, data, (extract(epoch from clock_timestamp()) * 1000)::bigint from newest order by place
  returning id
),
span as materialized (
  select max(id) as last, bool_or(id % 256 = 0) as is_full, (select most from kept) as most from published
),
trimmed as (
  delete from event where queue = :queue and id <= (select last - most from span where is_full and most > 0 and last > most)
    and (select pg_try_advisory_xact_lock(hashtext('bullmq:evtrim:' || :queue)) from span where is_full and most > 0)
  returning 1
),
told as materialized (
  select case when pg_try_advisory_xact_lock(hashtext('bullmq:evnotify:' || :queue))
    then pg_notify('bullmq_events', :queue) end from simple where holds
)
select s.holds, c.* from simple s cross join (select count(*) from told) t left join claimed c on true order by c.ord
