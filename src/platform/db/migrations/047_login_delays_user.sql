-- Finds the timed locks of a user whom a manager unlocks.
create index concurrently if not exists login_delays_user on login_delays (user_key) where user_key is not null;
