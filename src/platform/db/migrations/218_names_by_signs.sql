-- `users_words` has the same words.
drop index concurrently if exists users_name_words;
