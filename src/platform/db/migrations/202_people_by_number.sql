-- People are found by their phone number whether or not it is verified.
create index concurrently if not exists users_number on users (phone_key(phone), org_id)
where phone_key(phone) is not null;
