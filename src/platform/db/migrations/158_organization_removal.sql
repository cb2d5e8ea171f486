-- Organizations that were deleted for good, and how far that has come for those whose time is over.

-- The ids stay taken: the audit events of an organization must not become those of another one.
create table removed_organizations (
  id text collate "C" primary key,
  removed_at timestamptz not null default now()
);

-- The history of changes before this sequence is read; the first steps of a removal leave it null.
alter table organizations add column history_removed_to bigint;
create index organizations_removed on organizations (removed_at) where removed_at is not null;
