-- Password sources: other systems that know the passwords of imported users (src/password-sources/).

create table password_sources (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id),
  name text not null,
  kind text not null check (kind in ('http', 'ldap', 'oauth-password', 'cognito')),
  settings jsonb not null,
  secret_sealed text,
  user_name_template text not null,
  timeout_ms integer not null,
  checks_per_second real not null,
  -- From when nobody is verified there any more; null: as long as nobody ends it.
  until timestamptz,
  ended_at timestamptz,
  -- When the checks so far would all be done at the rate.
  free_at timestamptz not null default now(),
  -- How long a refusal took lately, and when that was: see src/users/slow-hashes.ts.
  slow_ms integer not null default 0,
  slow_at timestamptz,
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);

create index password_sources_org on password_sources (org_id, created_at);

create index password_sources_until on password_sources (until) where until is not null and ended_at is null;

-- How many users were migrated on a day (UTC).
create table password_source_days (
  source_id text collate "C" not null references password_sources (id) on delete cascade,
  day date not null,
  migrated integer not null,
  primary key (source_id, day)
);
