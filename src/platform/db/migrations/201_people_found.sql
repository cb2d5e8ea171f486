-- People are found by the beginning of their display name. The index has three letters of a name: the whole name would
-- make imports slower, as its place in the index is random.
create index concurrently if not exists users_display_name on users (left(lower(display_name), 3) collate "C")
where display_name is not null;
