-- Logins: failures, what a session was made with, and how old a password may be.

-- Failed logins in a row of a user; enough of them lock it. In a table of its own, as counting must not move the user.
create table login_failures (
  user_id text collate "C" primary key references users (id) on delete cascade,
  failures integer not null,
  last_failure_at timestamptz not null default now()
);
create index login_failures_age on login_failures (last_failure_at);

-- Failed logins by what was typed, whether or not it is anybody's name: answers slow down alike. `bucket` is a piece of
-- a hash, so that the table is bounded and tells no names; those who share one by chance share a short delay.
create table login_delays (
  bucket integer primary key,
  failures integer not null,
  last_failure_at timestamptz not null default now()
);
create index login_delays_age on login_delays (last_failure_at);

-- When the session's one-time password was checked; null when there was none.
alter table sessions add column totp_verified_at timestamptz;

-- How many days a password is good for, 0 for ever, and how many before its end people are told. Without an
-- organization it is the instance's default, which is always there; `sequence` is 0 until it is changed.
create table password_age_policies (
  org_id text collate "C" unique nulls not distinct references organizations (id),
  max_age_days integer not null check (max_age_days between 0 and 36500),
  expire_warn_days integer not null check (expire_warn_days between 0 and 36500),
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  check (max_age_days = 0 or expire_warn_days <= max_age_days)
);
insert into password_age_policies (org_id, max_age_days, expire_warn_days, sequence) values (null, 0, 0, 0);
