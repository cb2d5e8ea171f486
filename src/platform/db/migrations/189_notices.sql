-- Mails that tell of changes of an account, and a code by mail that confirms one.

alter type mail_kind add value 'password_changed';
alter type mail_kind add value 'phone_changed';
alter type mail_kind add value 'factor_added';
alter type mail_kind add value 'factor_removed';
alter type mail_kind add value 'factors_reset';
alter type mail_kind add value 'passkey_added';
alter type mail_kind add value 'passkey_removed';
alter type mail_kind add value 'recovery_codes_made';
alter type mail_kind add value 'recovery_code_used';
alter type mail_kind add value 'account_deleted';
alter type mail_kind add value 'confirm_change';

-- The organization of a mail to somebody who has deleted their account; `user_id` is null then.
alter table mail_outbox alter column user_id drop not null;
alter table mail_outbox add column org_id text collate "C";
