-- The speed of an import over time. Without a foreign key: its check would wait for the row that every batch locks.
-- A tick is a second in which the import ran. The counts only grow: a user who is retried counts again.
create table import_rates (
  import_id bigint not null,
  tick integer not null,
  at timestamptz not null default clock_timestamp(),
  ran_ms bigint not null,
  succeeded integer not null,
  skipped integer not null,
  failed integer not null,
  primary key (import_id, tick)
);

-- Failures that are no longer in `failed`: the users were retried or left out.
alter table imports add column reopened integer not null default 0;
