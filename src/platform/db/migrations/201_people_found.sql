-- People are found by the beginning of their display name, and by their phone number whether or not it is verified.
-- The index has three letters of a name: the whole name would make imports slower, as its place in the index is random.
create index users_display_name on users (left(lower(display_name), 3) collate "C") where display_name is not null;

drop index users_phone;
create index users_phone on users (phone_key(phone), org_id) where phone_key(phone) is not null;
