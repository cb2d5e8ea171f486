-- Nobody learns which ids other organizations have without creating users; and the end of an import that a trigger stops
-- is counted.

-- Whether the id is why no user of this organization can be created, and not the name. A name that the organization has
-- comes before an id of another organization: the caller knows the name, and would learn about the id without creating
-- a user.
create function user_id_conflicts(p_id text, p_org text, p_name_key text) returns boolean language sql as $$
  select exists (select from users where id = p_id and org_id = p_org)
    or not exists (select from users where org_id = p_org and user_name_key = p_name_key)
$$;

-- The human of the organization who has this id or, if nobody of the organization has it, this name.
create or replace function existing_human(p_org text, p_id text, p_name_key text) returns text language sql as $$
  select case when exists (select from users where id = p_id and org_id = p_org)
    then (select id from users where id = p_id and org_id = p_org and kind = 'human')
    else (select id from users where user_name_key = p_name_key and org_id = p_org and kind = 'human') end
$$;

-- Users of a dry run whose id was not looked up in other organizations.
alter table import_dry_runs add column unchecked_ids integer not null default 0;

-- Whether the end of the import is still to be counted by a process: a trigger cannot count it in `/metrics`.
alter table imports add column end_uncounted boolean not null default false;
create index imports_end_uncounted on imports (id) where end_uncounted;

-- Locks imports in the order of their ids, after the rows of users and members, as everything else does.
create or replace function stop_imports_of(p_user text) returns void language plpgsql as $$
declare
  import record;
  event bigint;
  reason jsonb := jsonb_build_object('reason', 'rights', 'userId', p_user);
begin
  for import in
    select i.id, i.resource_owner from imports i
    where i.id in (
        select id from imports where state = 'running' and created_by = p_user
        union select id from imports where state = 'running' and run_by = p_user
        union select id from imports where state = 'paused' and (created_by = p_user or run_by = p_user)
        union select id from imports where state = 'undoing' and undo_by = p_user
        union select a.import_id from import_authors a join imports o on o.id = a.import_id
          where a.author = p_user and o.state in ('running', 'paused'))
      and not may_import(p_user, i.id)
    order by i.id for update of i
  loop
    event := nextval('events_sequence_seq');
    update imports set
      state = 'cancelled',
      changed_at = clock_timestamp(),
      finished_at = coalesce(finished_at, clock_timestamp()),
      deadline = deadline + coalesce(clock_timestamp() - paused_at, '0'),
      stood = stood + coalesce(clock_timestamp() - paused_at, '0'),
      paused_at = null,
      sequence = event,
      end_uncounted = true,
      warnings = warnings || jsonb_build_array(jsonb_build_object('path', '', 'count', 1, 'message',
        'The import was stopped: somebody who made or started a part of it may no longer import into its organizations.'))
    where id = import.id and state in ('running', 'paused', 'undoing');
    continue when not found;
    insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
    values (event, 'import', import.id::text, import.resource_owner, 'import.cancelled', 'system', reason);
    insert into audit_events (sequence, type, actor_kind, user_id, org_id, object_type, object_id, payload)
    values (event, 'import.cancelled', 'system', p_user, nullif(import.resource_owner, 'instance'), 'import',
      import.id::text, reason);
    perform pg_notify('muster_import', import.id::text);
  end loop;
end
$$;
