create index concurrently if not exists users_at_source on users (password_hash, id) where password_hash like '$source$%';
