-- The history with an event for each object. A batch of an import writes one event of all its users, as a row for each
-- costs 180 bytes, and as many of the log, and says no more: `aggregate_id` is the import then, and the payload has the ids
-- as `userIds` and, of users who were written, the numbers that they got as `sequences`. It is in the payload, as a column
-- more would lock the table, which every change of a user writes before or after the user.
create view history as
  select sequence, created_at, aggregate_type, aggregate_id, resource_owner, type, editor, payload
  from events where aggregate_type <> 'users'
  union all
  select coalesce((payload -> 'sequences' ->> (u.n - 1)::int)::bigint, sequence), created_at, 'user', u.id, resource_owner,
    type, editor, payload - '{userIds,sequences}'::text[]
  from events, jsonb_array_elements_text(payload -> 'userIds') with ordinality as u (id, n)
  where aggregate_type = 'users';

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
