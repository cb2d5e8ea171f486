-- People are found by the beginning of their display name, and by their phone number whether or not it is verified.
create index users_display_name on users (lower(display_name) collate "C") where display_name is not null;

drop index users_phone;
create index users_phone on users (phone_key(phone), org_id) where phone_key(phone) is not null;
