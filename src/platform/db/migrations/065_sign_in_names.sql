-- Which names the users of an organization sign in with, and since when an address is the verified one of a user. Where
-- addressed_at is null, that is the creation of the user, but not before this migration: names that existed then come
-- before addresses (src/users/login-names.ts).

alter table organizations add column sign_in_names text[] not null default '{userName,loginName,email}';

alter table users add column addressed_at timestamptz;

create function set_addressed_at() returns trigger language plpgsql as $$
begin
  new.addressed_at := now();
  return new;
end
$$;

create trigger users_addressed before update of email_key, email_verified on users for each row
when (new.email_verified and (not old.email_verified or old.email_key is distinct from new.email_key))
execute function set_addressed_at();
