-- Triggers that act on whole statements replace the 13 foreign keys to a user. PostgreSQL looked up each key for each
-- deleted user, which was more than half of an undo. As before, the rows of a deleted user go with the user, and no row
-- is added for a user who does not exist.

-- Waits for users, which every transaction uses; then only briefly for each other table, while all others wait for
-- users: a transaction that holds one of them and waits for users would be a deadlock.
lock table users in access exclusive mode;
set local lock_timeout = '100ms';
lock table codes, instance_members, login_networks, machine_keys, mail_counts, mail_outbox, oauth_models, org_members,
  personal_access_tokens, sessions, user_idp_links, user_metadata, user_totp in access exclusive mode;
set local lock_timeout = '2s';

-- Each delete sees what was committed before it begins, so also the rows of a transaction for which the deletion of the
-- user waited. The plans are kept, and must not depend on how small the tables were at first.
create function delete_rows_of_users() returns trigger
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ids text[] := array(select id from removed order by id);
begin
  delete from codes where user_id = any (ids);
  delete from instance_members where user_id = any (ids);
  delete from login_networks where user_id = any (ids);
  delete from machine_keys where user_id = any (ids);
  delete from mail_counts where user_id = any (ids);
  delete from mail_outbox where user_id = any (ids);
  delete from oauth_models where user_id = any (ids);
  delete from org_members where user_id = any (ids);
  delete from personal_access_tokens where user_id = any (ids);
  delete from sessions where user_id = any (ids);
  delete from user_idp_links where user_id = any (ids);
  delete from user_metadata where user_id = any (ids);
  delete from user_totp where user_id = any (ids);
  return null;
end
$$;

create trigger users_rows_removed after delete on users referencing old table as removed
  for each statement execute function delete_rows_of_users();

-- Locks the users of added rows as a foreign key does: waits for a deletion under way, and then refuses the rows; a
-- later deletion waits for the lock, and then sees the rows.
create function require_users() returns trigger
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  ids text[] := array(select distinct user_id from added where user_id is not null order by user_id);
begin
  if cardinality(ids) > cardinality(array(select id from users where id = any (ids) order by id for key share)) then
    raise foreign_key_violation using
      message = format('a row of %s has a user who does not exist', tg_table_name),
      table = tg_table_name, constraint = tg_table_name || '_user_id_fkey';
  end if;
  return null;
end
$$;

-- The same for one row that gets a user, such as a device code when a user has approved it.
create function require_user() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  perform from users where id = new.user_id for key share;
  if not found then
    raise foreign_key_violation using
      message = format('a row of %s has a user who does not exist', tg_table_name),
      table = tg_table_name, constraint = tg_table_name || '_user_id_fkey';
  end if;
  return null;
end
$$;

do $$
declare
  child text;
begin
  foreach child in array array[
    'codes', 'instance_members', 'login_networks', 'machine_keys', 'mail_counts', 'mail_outbox', 'oauth_models',
    'org_members', 'personal_access_tokens', 'sessions', 'user_idp_links', 'user_metadata', 'user_totp']
  loop
    execute format('create trigger %I after insert on %I referencing new table as added
      for each statement execute function require_users()', child || '_need_users', child);
    execute format('create trigger %I after update of user_id on %I for each row
      when (new.user_id is not null and new.user_id is distinct from old.user_id)
      execute function require_user()', child || '_need_user', child);
    execute format('alter table %I drop constraint %I', child, child || '_user_id_fkey');
  end loop;
end
$$;
