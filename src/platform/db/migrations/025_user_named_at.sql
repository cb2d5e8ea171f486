-- Since when a user has their user name: the bare name belongs to the user who had it first.
-- Null: since the user was created, as almost always, so that imports write nothing more.

alter table users add column named_at timestamptz;

create function set_named_at() returns trigger language plpgsql as $$
begin
  new.named_at := now();
  return new;
end
$$;

create trigger users_named before update of user_name_key on users
  for each row when (old.user_name_key <> new.user_name_key) execute function set_named_at();
