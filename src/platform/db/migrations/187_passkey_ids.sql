-- Names of passkeys in the API, as a credential id may be too long for an address.
alter table user_passkeys add column id text collate "C" not null default gen_random_uuid()::text;
create unique index user_passkeys_id on user_passkeys (id);

-- Mails with a link to add a passkey.
alter type mail_kind add value if not exists 'add_passkey';
