-- `users_name_words` finds the beginning of a whole name too.
drop index concurrently if exists users_display_name;
