-- Attempts to log in by address, shared by all API processes (src/http/limits/attempt-counts.ts). A count is worth
-- nothing after a minute, so it need not survive a crash.
create unlogged table attempt_counts (
  -- A hash.
  address bigint primary key,
  attempts integer not null,
  ends_at timestamptz not null
) with (fillfactor = 70);
create index attempt_counts_age on attempt_counts (ends_at);
