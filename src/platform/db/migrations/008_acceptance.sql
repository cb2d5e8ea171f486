-- Requests that are sent again, and the backlog.

-- What a caller's Idempotency-Key stands for: the import that was accepted with it. Written by the transaction that accepts,
-- so that nobody holds a key whose body never came to its end.
create table idempotency_keys (
  caller text collate "C" not null,
  path text collate "C" not null,
  key text collate "C" not null,
  -- SHA-256 of what the request was: its decoded body, its query, its format
  request_hash bytea not null,
  import_id bigint not null,
  -- what a single import answered, once it did
  answer jsonb,
  created_at timestamptz not null default now(),
  primary key (caller, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Paused imports count for the backlog, and are few; the running ones are in imports_open.
create index imports_paused on imports (id) where state = 'paused';
