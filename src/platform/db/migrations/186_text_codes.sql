-- Codes by text message for a sign-in, and codes by mail and by text message as a second factor.
alter type mail_kind add value if not exists 'sign_in_text';
alter type mail_kind add value if not exists 'factor_mail';
alter type mail_kind add value if not exists 'factor_text';

-- Since when the number of a user is verified: of several users with the same one, the first has it as a name.
alter table users add column phoned_at timestamptz;

create function set_phoned_at() returns trigger language plpgsql as $$
begin
  new.phoned_at := now();
  return new;
end
$$;
create trigger users_phoned before update of phone, phone_verified on users
  for each row when (new.phone_verified and (not old.phone_verified or old.phone is distinct from new.phone))
  execute function set_phoned_at();
