-- External identity providers, the visits of browsers there, and the look-up of users by their account at one.

create table idps (
  id text collate "C" primary key,
  -- Null: of the instance.
  org_id text collate "C" references organizations (id),
  type text not null,
  name text not null,
  settings jsonb not null,
  secret_sealed text,
  -- Who decided last what the provider is.
  set_by text collate "C",
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
create index idps_org on idps (org_id, created_at);

create table idp_round_trips (
  id text collate "C" primary key,
  idp_id text collate "C" not null references idps (id) on delete cascade,
  purpose text not null check (purpose in ('sign_in', 'intent', 'link')),
  state_hash bytea not null unique,
  -- SHA-256 of the cookie of the browser that started it.
  browser_hash bytea,
  -- What the way back needs: nonce, PKCE verifier, redirect URI, where to go on.
  sealed text not null,
  -- What the provider said, until it is taken.
  result_sealed text,
  token_hash bytea,
  expires_at timestamptz not null,
  finished_at timestamptz,
  used_at timestamptz
);
create index idp_round_trips_expires on idp_round_trips (expires_at);
create index idp_round_trips_idp on idp_round_trips (idp_id);

-- The same account may stand at several users: neither signs in with it until one of them gives it up.
create index user_idp_links_account on user_idp_links (external_user_id, idp_id);

create type linking_rule as enum ('refuse', 'confirm', 'verifiedAddress', 'create');
alter table login_policies add column linking linking_rule not null default 'refuse';
