create index concurrently if not exists users_peppered on users (split_part(password_hash, '$', 3)) where password_hash like '$pepper$%';
