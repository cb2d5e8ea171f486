-- The worker processes that run, each reported by itself (src/queue/worker-list.ts). A few rows, written every two seconds.
create table workers (
  id text primary key,
  host text not null,
  pid integer not null,
  version text not null,
  roles text[] not null,
  backend text not null,
  shards integer not null,
  -- It drains: it takes no more jobs.
  is_stopping boolean not null,
  import_jobs integer not null,
  mail_jobs integer not null,
  users_per_second real not null,
  failing text[] not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);
