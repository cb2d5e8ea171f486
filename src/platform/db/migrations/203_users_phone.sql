-- `users_number` finds verified numbers too.
drop index concurrently if exists users_phone;
