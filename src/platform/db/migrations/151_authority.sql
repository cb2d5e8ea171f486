-- Whose rights an import has: those of everybody who made a part of it, and of whoever runs it. It stops when one of
-- them may no longer import into its organizations. Without run_by, its creator runs it.

alter table imports add column run_by text collate "C";
alter table import_items add column changed_by text[] collate "C";

-- Who made a part of an import besides its creator; whole: a part that decides about every entry, such as a file.
create table import_authors (
  import_id bigint not null references imports on delete cascade,
  author text collate "C" not null,
  whole boolean not null,
  primary key (import_id, author)
);

create function may_import_into(p_user text, p_org text) returns boolean language sql stable as $$
  select exists (select from users where id = p_user and state = 'active') and (
    exists (select from instance_members where user_id = p_user and 'IAM_OWNER' = any(roles))
    or exists (select from org_members where org_id = p_org and user_id = p_user and 'ORG_OWNER' = any(roles)))
$$;

create function may_import(p_user text, p_import bigint) returns boolean language sql stable as $$
  select not exists (select from import_orgs o where o.import_id = p_import and not may_import_into(p_user, o.org_id))
$$;

-- Locks imports in the order of their ids, after the rows of users and members, as everything else does.
create function stop_imports_of(p_user text) returns void language plpgsql as $$
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

create index import_authors_author on import_authors (author);

create function stop_imports_of_member() returns trigger language plpgsql as $$
begin
  perform stop_imports_of(old.user_id);
  return null;
end
$$;

create function stop_imports_of_user() returns trigger language plpgsql as $$
begin
  if exists (select from org_members where user_id = old.id)
    or exists (select from instance_members where user_id = old.id) then
    perform stop_imports_of(old.id);
  end if;
  return null;
end
$$;

-- At the end of the transaction, so that a batch that ends an account is settled before its import stops.
create constraint trigger org_members_lost after delete or update of roles on org_members
  deferrable initially deferred for each row execute function stop_imports_of_member();
create constraint trigger instance_members_lost after delete or update of roles on instance_members
  deferrable initially deferred for each row execute function stop_imports_of_member();
create constraint trigger users_lost after update of state on users
  deferrable initially deferred for each row when (old.state = 'active' and new.state <> 'active')
  execute function stop_imports_of_user();
