-- The encryption keys that values in this database may need, by their ids (src/secrets.ts): a process that lacks one of
-- them does not start.
create table encryption_keys (
  id text collate "C" primary key,
  registered_at timestamptz not null default now(),
  -- Set when values are first encrypted again with this key: codes up to this id may have been sent with an earlier key.
  last_code_id bigint
);
