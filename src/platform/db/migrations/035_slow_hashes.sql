-- How much longer than for an unknown user the check of a hash takes, in milliseconds, for those in use
-- (src/users/slow-hashes.ts).
create table slow_hashes (
  ms integer primary key,
  seen_at timestamptz not null default now()
);
