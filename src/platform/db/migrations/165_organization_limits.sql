-- What an organization may use at most; an organization without a row for something is not limited in it.

create table org_limits (
  org_id text collate "C" references organizations (id) on delete cascade,
  name text collate "C",
  most integer not null check (most >= 0),
  primary key (org_id, name)
);
