-- Who of an import has signed in since, when first, and by which way.

create type sign_in_way as enum (
  'password', 'password_source', 'provider', 'passkey', 'mail_code', 'sms_code');

create table first_sign_ins (
  user_id text collate "C" primary key,
  import_id bigint not null,
  way sign_in_way not null,
  at timestamptz not null default now()
);
create index first_sign_ins_import on first_sign_ins (import_id, at);
create trigger first_sign_ins_need_user after update of user_id on first_sign_ins
  for each row when (new.user_id is not null and new.user_id is distinct from old.user_id)
  execute function require_user();
create trigger first_sign_ins_need_users after insert on first_sign_ins
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
  delete from user_idp_links where user_id = any (ids);
  delete from user_metadata where user_id = any (ids);
  delete from user_totp where user_id = any (ids);
  return null;
end
$function$;
