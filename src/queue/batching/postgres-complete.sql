-- Completes many jobs of a queue and hands out as many of the next ones, as `move_to_completed_fetch` of BullMQ 6.7 does for
-- each of them.
--
-- It does the simple case only: jobs that are removed when they end, without parent, children or deduplication, of a queue
-- that is neither paused nor limited and has no delayed jobs, while enough jobs wait. Where a condition does not hold it
-- changes nothing and returns no row; the caller then calls BullMQ's function for each job. A job whose lock was lost, or
-- that another transaction holds, is such a condition.
--
-- On failure: all or nothing, as any statement.
--
-- BullMQ's check for stalled jobs locks many rows in an order of its own. A statement that holds several rows must not wait
-- for one of them, so rows are locked at once or not at all. The advisory locks are BullMQ's own, taken in its order.
--
-- $1 queue, $2 ids, $3 lock tokens, $4 results as JSON, $5 now in ms, $6 duration of a lock in ms, $7 name of the worker
with ending as materialized (
  select * from unnest($2::text[], $3::text[], $4::text[]) with ordinality as e (id, token, result, ord)
),
held as materialized (
  select j.id, j.state, j.lock_token, j.parent_id, j.dedup_id from job j
  where j.queue = $1 and j.id = any($2::text[])
    and (select pg_advisory_xact_lock_shared(hashtext('bullmq:finalization'), hashtext($1))) is not null
  for update nowait
),
simple as materialized (
  select (select count(*) from held h join ending e using (id)
      where h.state = 'active' and h.lock_token = e.token and h.parent_id is null and h.dedup_id is null)
    = cardinality($2::text[])
    and not exists (select from meta where queue = $1 and field in ('paused', 'concurrency', 'max'))
    and not exists (select from job where queue = $1 and state = 'delayed')
    and not exists (select from job_dependency where parent_queue = $1 and parent_id = any($2::text[])) as holds
),
waiting as materialized (
  select id, seq, priority from job where queue = $1 and state = 'waiting' order by priority, seq
  limit (select case when holds then cardinality($2::text[]) else 0 end from simple)
  for update skip locked
),
enough as materialized (select count(*) = cardinality($2::text[]) as holds from waiting),
next as materialized (
  select w.id, e.token, w.ord from (select id, row_number() over (order by priority, seq) as ord from waiting) w
  join ending e using (ord) where (select holds from enough)
),
removed as (
  delete from job where queue = $1 and id = any($2::text[]) and (select holds from enough) returning 1
),
claimed as (
  update job j set state = 'active', lock_token = n.token, locked_until_ms = $5::bigint + $6::bigint,
    processed_at_ms = $5::bigint, processed_by = $7, attempts_started = attempts_started + 1
  from next n where j.queue = $1 and j.id = n.id
  returning j.*, n.ord
),
kept as materialized (
  select coalesce((select value::integer from meta where queue = $1 and field = 'opts.maxLenEvents'), 10000) as most
),
-- Not the events that BullMQ would remove before long.
newest as (
  select 2 * e.ord as place, 'completed' as event,
    jsonb_build_object('jobId', e.id, 'returnvalue', e.result::jsonb::text, 'prev', 'active') as data
  from ending e where (select holds from enough)
  union all
  select 2 * ord + 1, 'active', jsonb_build_object('jobId', id, 'prev', 'waiting') from next
  order by place desc limit (select case when most > 0 then most end from kept)
),
published as (
  insert into event (queue, event, data, created_at_ms)
  select $1, event, data, (extract(epoch from clock_timestamp()) * 1000)::bigint from newest order by place
  returning id
),
span as materialized (
  select max(id) as last, bool_or(id % 256 = 0) as is_full, (select most from kept) as most from published
),
trimmed as (
  delete from event where queue = $1 and id <= (select last - most from span where is_full and most > 0 and last > most)
    and (select pg_try_advisory_xact_lock(hashtext('bullmq:evtrim:' || $1)) from span where is_full and most > 0)
  returning 1
),
told as materialized (
  select case when pg_try_advisory_xact_lock(hashtext('bullmq:evnotify:' || $1))
    then pg_notify('bullmq_events', $1) end from enough where holds
)
select claimed.* from claimed, (select count(*) from told) t order by ord
