-- Codes for a new password, mailed or returned, and for a phone number, which go out as text messages. The kind of a row
-- in mail_outbox says which way it goes. New values cannot be used in the migration that adds them.
alter type mail_kind add value 'reset_password';
alter type mail_kind add value 'verify_phone';

-- Codes go with their user only, and so do mails by their own key. Without an index on code_id each code that was deleted
-- meant a look at every mail; the index would cost each imported row as much as the key itself.
alter table mail_outbox drop constraint mail_outbox_code_id_fkey;
