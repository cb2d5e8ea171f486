-- How many mails and text messages a user got in the last day at a request of their own, or of anybody who knows their
-- login name.
create table mail_counts (
  user_id text collate "C" not null references users (id) on delete cascade,
  requester text not null check (requester in ('user', 'anybody')),
  mails integer not null,
  since timestamptz not null default now(),
  primary key (user_id, requester)
);
create index mail_counts_since on mail_counts (since);
