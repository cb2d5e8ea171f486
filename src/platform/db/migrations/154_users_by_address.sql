-- Finds the holders of an address organization by organization, however many of them one organization has.
create index concurrently if not exists users_by_address on users (email_key, email_verified, org_id)
where email_key is not null;
