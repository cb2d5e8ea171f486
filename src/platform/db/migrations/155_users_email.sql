-- Replaced by users_by_address, which begins with the same column.
drop index concurrently if exists users_email;
