-- One event of all users whom a batch wrote or removed: a row for each costs 180 bytes, and as many of the log, and says
-- no more. `aggregate_id` is the import then, and `user_sequences` are the numbers that the users who were written got.
-- Null: an event of one object.
alter table events add column user_ids text[] collate "C", add column user_sequences bigint[];

-- The history with an event for each object.
create view history as
  select sequence, created_at, aggregate_type, aggregate_id, resource_owner, type, editor, payload
  from events where user_ids is null
  union all
  select coalesce(u.sequence, e.sequence), created_at, 'user', u.id, resource_owner, type, editor, payload
  from events e, unnest(user_ids, user_sequences) as u (id, sequence) where user_ids is not null;

-- As before, but without a lock on users that the transaction itself wrote, whom nobody else can delete. A very old row
-- may have the number of this transaction by chance, but not its time.
create or replace function require_users() returns trigger
set enable_seqscan = off set plan_cache_mode = force_generic_plan
language plpgsql as $$
declare
  ids text[] := array(select distinct user_id from added where user_id is not null order by user_id);
  own text[] := array(select id from users
    where id = any (ids) and xmin = pg_current_xact_id()::xid and created_at = now());
begin
  if cardinality(ids) > cardinality(own) then
    ids := array(select unnest(ids) except select unnest(own));
    if cardinality(ids) > cardinality(array(select id from users where id = any (ids) order by id for key share)) then
      raise foreign_key_violation using
        message = format('a row of %s has a user who does not exist', tg_table_name),
        table = tg_table_name, constraint = tg_table_name || '_user_id_fkey';
    end if;
  end if;
  return null;
end
$$;
