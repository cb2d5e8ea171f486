-- What operators search: sign-ins, tokens and administrative changes, each with where the request came from.
-- Not columns of `events`: an import writes a row there for each user, which must not pay for seven indexes, and these
-- rows are deleted after AUDIT_RETENTION_DAYS, while undo and `sequence` need those of `events`.
-- No foreign keys: an event outlives its user, organization and client.
create table audit_events (
  -- From the sequence of `events`: the event of a change has the number that the response showed.
  sequence bigint primary key default nextval('events_sequence_seq'),
  -- In milliseconds, the precision of a page token.
  created_at timestamptz(3) not null default clock_timestamp(),
  type text not null,
  actor_kind text not null,
  actor_id text collate "C",
  user_id text collate "C",
  org_id text collate "C",
  client_id text collate "C",
  object_type text,
  object_id text collate "C",
  address inet,
  user_agent text,
  request_id text,
  payload jsonb,
  -- Equal failures within a minute share a row: how many there were, and when the last one was.
  repeat_key bytea,
  count integer not null default 1,
  last_at timestamptz(3)
);

create unique index audit_events_repeat on audit_events (repeat_key) where repeat_key is not null;
create index audit_events_time on audit_events (created_at, sequence);
create index audit_events_type on audit_events (type, created_at, sequence);
create index audit_events_actor on audit_events (actor_id, created_at, sequence) where actor_id is not null;
create index audit_events_user on audit_events (user_id, created_at, sequence) where user_id is not null;
create index audit_events_org on audit_events (org_id, created_at, sequence) where org_id is not null;
create index audit_events_client on audit_events (client_id, created_at, sequence) where client_id is not null;
create index audit_events_address on audit_events (address, created_at, sequence) where address is not null;
