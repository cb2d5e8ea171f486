-- Control of an import: pause, retry, undo, report, and the end of what it keeps.

alter table imports
  -- since when the clock stands: while paused the deadline moves on with the time
  add column paused_at timestamptz,
  -- how long it stood altogether: while paused, and from an end to the resume or retry after it
  add column stood interval not null default '0',
  -- a retry made it run last
  add column retried boolean not null default false,
  -- an undo has looked at the items before this one
  add column undo_next integer not null default 0,
  -- user id of who asked for the undo
  add column undo_by text collate "C",
  -- the payload of the items before this one is erased; once it is not null nothing of the import can run again
  add column erased_to integer;

-- What the retention has to look at; it costs a running import nothing, as none of these columns changes then.
create index imports_erasable on imports (finished_at)
  where finished_at is not null and (erased_to is null or erased_to < total);

-- Why an undo left a user alone.
create type kept_reason as enum ('signed_in', 'changed', 'member', 'deleted', 'not_created');

alter table import_items
  add column kept kept_reason,
  -- of an entry that was invalid from the start: the whole entry as JSON, sealed, for the report
  add column entry_sealed text;

-- The last good password check, to the hour; not a change of the user.
alter table users add column last_login_at timestamptz;
update users u set last_login_at = e.at
from (
  select aggregate_id, max(created_at) as at from events
  where aggregate_type = 'user' and type = 'user.session.added' group by aggregate_id
) e where e.aggregate_id = u.id;
update users u set last_login_at = now()
where last_login_at is null and exists (select from oauth_models m where m.user_id = u.id);
