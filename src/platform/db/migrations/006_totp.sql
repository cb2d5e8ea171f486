-- Second factors: one-time passwords by time (RFC 6238).

-- At most one a user: pending until its first good code, asked for at login from then on.
create table user_totp (
  user_id text collate "C" primary key references users (id) on delete cascade,
  -- sealed base32
  secret text not null,
  -- null while pending
  confirmed_at timestamptz,
  -- number of the step (30 s since 1970) of the last good code: neither it nor one before it is good again
  last_step bigint,
  -- codes that were tried since the last good one, and when
  tries integer not null default 0,
  last_try_at timestamptz,
  created_at timestamptz not null default now()
);

-- Of an imported user, sealed as `user_totp.secret` is; erased with success.
alter table import_items add column totp_sealed text;
