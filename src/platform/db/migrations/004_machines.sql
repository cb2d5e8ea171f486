-- Machine users' keys and secrets, and OAuth clients.

-- Only the public half of a key is kept, as a JWK; without `expires_at` it is good until it is removed.
create table machine_keys (
  id text collate "C" primary key,
  user_id text collate "C" not null references users (id) on delete cascade,
  public_jwk jsonb not null,
  expires_at timestamptz,
  sequence bigint not null,
  created_at timestamptz not null default now()
);
create index machine_keys_user on machine_keys (user_id);

-- SHA-256 of a machine user's client secret: it is random, so no slow hash is needed.
alter table users add column secret_hash bytea;

create type client_auth_method as enum ('none', 'client_secret_basic', 'client_secret_post');

-- Applications that people log in to; they belong to the instance. Of a secret only its SHA-256 is kept.
create table oauth_clients (
  id text collate "C" primary key,
  name text not null,
  redirect_uris text[] not null,
  post_logout_redirect_uris text[] not null,
  grant_types text[] not null,
  auth_method client_auth_method not null,
  secret_hash bytea,
  sequence bigint not null,
  created_at timestamptz not null default now(),
  check ((auth_method = 'none') = (secret_hash is null))
);
