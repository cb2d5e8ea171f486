-- A check judges the entries of its draft where they are. Its own items are only those that fail, are skipped or change a
-- user: every other entry before `judged_to` would be created. A check that began before has items of its own for all
-- entries, and no `entries_of`; it ends as any dry run does.
alter table import_dry_runs
  add column entries_of bigint,
  add column judged_to integer not null default 0;
create index import_dry_runs_entries on import_dry_runs (entries_of) where entries_of is not null;

-- A check is work for as long as its dry run runs.
drop index import_drafts_due;
create index import_drafts_due on import_drafts (requested_at) where state in ('converting', 'checking');
