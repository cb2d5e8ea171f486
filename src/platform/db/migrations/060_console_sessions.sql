-- Who is signed in to the console: the row of a browser's cookie. The tokens are encrypted with a key that only the
-- cookie holds. No reference to users: a session ends when its token does, which ends with its user.
create table console_sessions (
  id_hash bytea primary key,
  sealed_tokens text not null,
  expires_at timestamptz not null
);
create index console_sessions_expiry on console_sessions (expires_at);
