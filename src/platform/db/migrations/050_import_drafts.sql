-- Drafts of imports: files that are uploaded, converted and checked before an import of them starts. Until it starts,
-- the import is in state `receiving`, which processes of earlier versions do not show; `imports.changed_at` is then the
-- time when the draft expires, so that they do not remove it as abandoned.
create type draft_state as enum
  ('uploading', 'converting', 'unreadable', 'draft', 'checking', 'checked', 'discarded', 'started');

create table import_drafts (
  import_id bigint primary key references imports on delete cascade,
  state draft_state not null default 'uploading',
  -- Of the entries that name no organization.
  org_id text collate "C",
  -- The organizations of its users, as far as they are known.
  orgs text[] not null default '{}',
  -- Of the latest conversion: source, mapping and the like; and of the latest check or start.
  conversion jsonb,
  settings jsonb,
  -- Counts the conversions and checks, so that a late process writes nothing.
  run integer not null default 0,
  requested_at timestamptz,
  attempts integer not null default 0,
  holder text,
  held_until timestamptz,
  progress jsonb,
  -- What the latest conversion found, and why the files cannot be read.
  result jsonb,
  error jsonb,
  -- The dry run of the latest check.
  check_id bigint,
  sequence bigint not null default 0,
  changed_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index import_drafts_due on import_drafts (requested_at) where state = 'converting' or state = 'checking' and check_id is null;
create index import_drafts_expires on import_drafts (expires_at);

create table import_files (
  import_id bigint not null references import_drafts on delete cascade,
  file_id text collate "C" not null,
  kind text not null,
  name text not null,
  size bigint not null,
  received bigint not null default 0,
  -- The key of its chunks, encrypted.
  key_sealed text not null,
  created_at timestamptz not null default now(),
  primary key (import_id, file_id)
);

create table import_chunks (
  import_id bigint not null,
  file_id text collate "C" not null,
  position bigint not null,
  bytes bytea not null,
  primary key (import_id, file_id, position),
  foreign key (import_id, file_id) references import_files on delete cascade
);
-- Encrypted bytes cannot be compressed.
alter table import_chunks alter column bytes set storage external;
