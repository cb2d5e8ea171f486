/**
 * One statement that completes many jobs of a queue and hands out as many next ones, on BullMQ's PostgreSQL backend.
 *
 * It does what `move_to_completed_fetch` of BullMQ 6.7 does for each, where that is simple: jobs that are removed when they
 * end, without parent, children or deduplication, of a queue that is neither paused nor limited and has nothing delayed,
 * while enough jobs wait. Where one of these does not hold it does nothing, and BullMQ's own function is called.
 * Guarantee: all or nothing. A job whose lock was lost, or that somebody else holds, keeps the statement from doing anything.
 * A test compares rows and events with BullMQ's, and another fails when BullMQ's functions change.
 */

/** A job's end, and the lock that it was run under. */
export interface Ending {
  id: string;
  token: string;
  /** JSON. */
  result: unknown;
}

/** The same for all of one statement. */
export interface Together {
  queue: string;
  lockMs: unknown;
  now: number;
  workerName: unknown;
}

/** The statement with its parameters; it answers a row for each ending, in their order, or none when it did nothing. */
export function completeTogether({ queue, lockMs, now, workerName }: Together, endings: Ending[]) {
  const ids = endings.map(({ id }) => id);
  const tokens = endings.map(({ token }) => token);
  const results = endings.map(({ result }) => result ?? 'null');
  return { name: 'complete-together', text: TEXT, values: [queue, ids, tokens, results, now, lockMs, workerName] };
}

// BullMQ's look for stalled jobs locks many rows in an order of its own: whoever holds several must not wait for another,
// so rows are locked at once or not at all. The advisory locks are BullMQ's own, taken in its order.
const TEXT = `
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
published as (
  insert into event (queue, event, data, created_at_ms)
  select $1, event, data, (extract(epoch from clock_timestamp()) * 1000)::bigint
  from (
    select e.ord * 2 as place, 'completed' as event,
      jsonb_build_object('jobId', e.id, 'returnvalue', e.result::jsonb::text, 'prev', 'active') as data
    from ending e where (select holds from enough)
    union all
    select ord * 2 + 1, 'active', jsonb_build_object('jobId', id, 'prev', 'waiting') from next
  ) both_ends order by place
  returning id
),
span as materialized (
  select max(id) as last, bool_or(id % 256 = 0) as is_full,
    coalesce((select value::integer from meta where queue = $1 and field = 'opts.maxLenEvents'), 10000) as most
  from published
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
select claimed.* from claimed, (select count(*) from told) t order by ord`;
