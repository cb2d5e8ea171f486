-- Second factors of several kinds, recovery codes, passkeys, and phone numbers that sign in.

-- Several authenticator apps a user. The encrypted text holds the parameters too, where they are not the usual ones. A
-- process of the version before adds its only one as the first.
alter table user_totp add column id text collate "C" not null default '1';
alter table user_totp add column name text not null default '';
alter table user_totp add column last_used_at timestamptz;
alter table user_totp drop constraint user_totp_pkey;
alter table user_totp add primary key (user_id, id);

-- What else proves a user after the password; most users have no row.
create table user_factors (
  user_id text collate "C" primary key,
  otp_email boolean not null default false,
  otp_sms boolean not null default false,
  -- Since when a factor of the system before is missing, which could not come along.
  lost_at timestamptz,
  -- The hashes of the recovery codes that are left, encrypted.
  recovery_sealed text,
  recovery_left smallint not null default 0,
  recovery_made_at timestamptz,
  -- Codes tried in a row without success.
  tries integer not null default 0,
  last_try_at timestamptz
);
create trigger user_factors_need_user after update of user_id on user_factors
  for each row when (new.user_id is not null and new.user_id is distinct from old.user_id)
  execute function require_user();
create trigger user_factors_need_users after insert on user_factors
  referencing new table as added for each statement execute function require_users();

create table user_passkeys (
  credential_id bytea primary key,
  user_id text collate "C" not null,
  -- A COSE key (RFC 9052).
  public_key bytea not null,
  sign_count bigint not null default 0,
  rp_id text not null,
  user_handle bytea,
  transports text[] not null default '{}',
  name text not null default '',
  backed_up boolean,
  -- False: a second factor only, after the password.
  passwordless boolean not null default true,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index user_passkeys_user on user_passkeys (user_id);
create trigger user_passkeys_need_user after update of user_id on user_passkeys
  for each row when (new.user_id is not null and new.user_id is distinct from old.user_id)
  execute function require_user();
create trigger user_passkeys_need_users after insert on user_passkeys
  referencing new table as added for each statement execute function require_users();

-- Each challenge is answered once, by whom it was made for.
create table webauthn_challenges (
  challenge_hash bytea primary key,
  purpose text not null check (purpose in ('sign_in', 'factor', 'add', 'session')),
  -- SHA-256 of the sign-in, the session or the form that it belongs to.
  holder bytea not null,
  user_id text collate "C",
  expires_at timestamptz not null
);
create index webauthn_challenges_expires on webauthn_challenges (expires_at);
create index webauthn_challenges_user on webauthn_challenges (user_id) where user_id is not null;
create trigger webauthn_challenges_need_user after update of user_id on webauthn_challenges
  for each row when (new.user_id is not null and new.user_id is distinct from old.user_id)
  execute function require_user();
create trigger webauthn_challenges_need_users after insert on webauthn_challenges
  referencing new table as added for each statement execute function require_users();

create or replace function delete_rows_of_users() returns trigger language plpgsql
  set enable_seqscan to 'off' set plan_cache_mode to 'force_generic_plan' as $function$
declare
  ids text[] := array(select id from removed order by id);
begin
  delete from codes where user_id = any (ids);
  delete from first_sign_ins where user_id = any (ids);
  delete from instance_members where user_id = any (ids);
  delete from login_networks where user_id = any (ids);
  delete from machine_keys where user_id = any (ids);
  delete from mail_counts where user_id = any (ids);
  delete from mail_outbox where user_id = any (ids);
  delete from oauth_models where user_id = any (ids);
  delete from org_members where user_id = any (ids);
  delete from personal_access_tokens where user_id = any (ids);
  delete from sessions where user_id = any (ids);
  delete from user_factors where user_id = any (ids);
  delete from user_idp_links where user_id = any (ids);
  delete from user_metadata where user_id = any (ids);
  delete from user_passkeys where user_id = any (ids);
  delete from user_totp where user_id = any (ids);
  delete from webauthn_challenges where user_id = any (ids);
  return null;
end
$function$;

-- Whether the password alone is not enough for a user: an app, a code by mail or text message, or a security key.
create function has_second_factor(of_user text) returns boolean language sql stable as $function$
  select exists (select from user_totp t where t.user_id = of_user and t.confirmed_at is not null)
    or exists (select from user_factors f where f.user_id = of_user and (f.otp_email or f.otp_sms))
    or exists (select from user_passkeys p where p.user_id = of_user and not p.passwordless)
$function$;

alter table sessions add column otp_sms_verified_at timestamptz;
alter table sessions add column recovery_code_verified_at timestamptz;
alter table sessions add column webauthn_verified_at timestamptz;
alter table sessions add column webauthn_user_verified boolean not null default false;

alter table login_policies add column sms_code mail_code_use not null default 'off';
alter table login_policies add column passkeys boolean not null default true;
alter table login_policies add column delete_account boolean not null default false;

create index users_phone on users (phone, org_id) where phone is not null and phone_verified;
