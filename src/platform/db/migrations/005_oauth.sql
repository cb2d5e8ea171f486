-- The authorization server: what it keeps between two requests, and the keys it signs with.

-- One row for each session, grant, code, token and so on of the protocol library. Of what is handed out, only a SHA-256 is
-- kept. `json` and not `jsonb`: a parameter of a request may hold a NUL, which goes back to who sent it as it came.
create table oauth_models (
  id_hash bytea primary key,
  kind text collate "C" not null,
  -- a code or token ends with the grant that it came of
  grant_hash bytea references oauth_models (id_hash) on delete cascade,
  user_id text collate "C" references users (id) on delete cascade,
  client_id text collate "C",
  -- what the tokens that end with a session name it by
  session_uid text collate "C",
  -- of an access token: space-separated, as RFC 6749 section 3.3 writes it
  scope text collate "C",
  payload json not null,
  consumed_at timestamptz,
  expires_at timestamptz not null
);
create index oauth_models_grant on oauth_models (grant_hash) where grant_hash is not null;
create index oauth_models_user on oauth_models (user_id) where user_id is not null;
create index oauth_models_client on oauth_models (client_id) where client_id is not null;
create index oauth_models_session on oauth_models (session_uid) where session_uid is not null;
create index oauth_models_expiry on oauth_models (expires_at);

-- The private key is a JWK, sealed. It is published from its first moment, signs from `signs_from` until the next one
-- does, and is published on for as long as something that it signed may be shown to us or to others.
create table signing_keys (
  id text collate "C" primary key,
  sealed_jwk text not null,
  signs_from timestamptz not null,
  created_at timestamptz not null default now()
);
