-- Logins are locked for a time and for a network, no longer for everybody until a manager acts. Nothing reads
-- `login_failures` any more; processes of the version before may still write to it.
delete from login_failures;

-- `bucket` is now a piece of a keyed hash of what was entered and of the network it came from; or, from 2^24 on, of what was
-- entered in any network. Until `open_at` no further attempt is checked. `user_key` is a keyed hash of the only user that the
-- failures are about; null if there were several, as users of different organizations can have the same name.
alter table login_delays add column open_at timestamptz not null default now(), add column user_key bigint;

-- Failed logins before this time no longer count, as the user was unlocked or reactivated; null: all count.
alter table users add column attempts_since timestamptz;

-- Networks from which a user has logged in lately, as a keyed hash: failures elsewhere do not lock the user there.
create table login_networks (
  user_id text collate "C" not null references users (id) on delete cascade,
  network bigint not null,
  last_login_at timestamptz not null default now(),
  primary key (user_id, network)
);
create index login_networks_age on login_networks (last_login_at);
