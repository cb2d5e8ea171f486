-- Claims due mails for `holdMs`: `alone` those outside imports; `turns` and `rated` those of imports, the oldest of each
-- import first, `rated` at most `perImportRate` a second of each import.
--
-- Both skip from import to import over the index, however many mails they have. The lateral and scalar subqueries force
-- index lookups: with plain joins, a planner that expects few mails or imports would read all of them.
--
-- `mails_free_at` is when the mails handed over so far would all be sent at the rate; claims may run ahead of it by one
-- mail plus the mails of a tenth of a second. Both ends of the calculation use now(): with two clocks, a microsecond's
-- difference could cost a mail.
-- if alone
with due as (
  select id, import_id, false as released from mail_outbox
  where state = 'pending' and import_id is null and next_attempt_at <= now()
  order by next_attempt_at, id limit :limit for update skip locked
)
-- if turns, rated
-- `NEXT_IMPORT` of outbox.ts.
with recursive next_import (id) as (
  (select import_id from mail_outbox where state = 'pending' and import_id is not null order by import_id limit 1)
  union all
  select (
    select m.import_id from mail_outbox m where m.state = 'pending' and m.import_id > n.id order by m.import_id limit 1)
  from next_import n where n.id is not null
),
open as materialized (
  select n.id, coalesce(i.mails = 'released', false) as released
  from next_import n left join lateral (select mails from imports where id = n.id offset 0) i on true
  where n.id is not null and i.mails is distinct from 'held' and (
    select m.next_attempt_at from mail_outbox m where m.state = 'pending' and m.import_id = n.id
    order by m.next_attempt_at limit 1) <= now()
),
share as (select ceil(:limit::numeric / greatest(count(*), 1))::int as n from open),
-- if turns
turn as materialized (select open.id, open.released, share.n from open, share order by random()),
-- if rated
rated as materialized (
  select open.id, open.released, least(share.n, greatest(0, floor(
    1.001 + :perImportRate::float8 * (0.1 + extract(epoch from now() - greatest(d.mails_free_at, now()))))))::int as n
  from import_dispatch d join open on open.id = d.import_id cross join share
  where d.import_id = any(array(select id from open))
  order by random() for update of d skip locked
),
turn as materialized (
  select id, released, n from rated
  union all
  -- Single imports are removed after a day, and `import_dispatch` with them: their mails have no rate any more.
  select open.id, open.released, share.n from open cross join share
  where not exists (select from import_dispatch d where d.import_id = open.id)
),
-- if turns, rated
due as materialized (
  select d.id, t.id as import_id, t.released from turn t cross join lateral (
    select m.id from mail_outbox m
    where m.state = 'pending' and m.import_id = t.id and m.next_attempt_at <= now()
    order by m.next_attempt_at, m.id limit t.n for update skip locked) d
  limit :limit
)
-- if rated
, moved as (
  update import_dispatch d
  set mails_free_at = greatest(d.mails_free_at, now()) + c.n / :perImportRate::float8 * interval '1 second'
  from (select import_id, count(*) as n from due group by import_id) c
  where d.import_id = any(array(select import_id from due)) and d.import_id = c.import_id
)
-- end
update mail_outbox m set next_attempt_at = now() + :holdMs * interval '1 millisecond'
-- The array makes the planner look up each id; without it, a planner that expects few rows reads the whole index.
from due where m.id = any(array(select id from due)) and m.id = due.id
returning m.id, m.attempts, m.next_attempt_at::text as until, due.import_id is null as alone, due.released
