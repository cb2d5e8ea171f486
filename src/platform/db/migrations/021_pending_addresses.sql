-- A new email address or phone number that users set themselves counts only once its code is used. Until then the code
-- holds it. Null: the code is for the address or number that the user has.
alter table codes add column address text;
-- Where a mail or text message goes. Null: to the address or number that the user has.
alter table mail_outbox add column address text;
-- A mail that only tells something carries no code.
alter table mail_outbox alter column code_id drop not null;
-- Tells the old address. New values cannot be used in the migration that adds them.
alter type mail_kind add value 'email_changed';
