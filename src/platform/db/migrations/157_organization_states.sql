-- An organization that was deactivated or deleted: nobody acts for it, and its imports are paused. It is deleted for
-- good some days after removed_at.

alter table organizations add column inactive_since timestamptz, add column removed_at timestamptz;

create function org_is_active(p_org text) returns boolean language plpgsql stable as $$
begin
  return exists (select from organizations where id = p_org and inactive_since is null and removed_at is null);
end
$$;

create or replace function may_import_into(p_user text, p_org text) returns boolean language sql stable as $$
  select org_is_active(p_org)
    and exists (select from users where id = p_user and state = 'active' and org_is_active(org_id)) and (
    exists (select from instance_members where user_id = p_user and 'IAM_OWNER' = any(roles))
    or exists (select from org_members where org_id = p_org and user_id = p_user and 'ORG_OWNER' = any(roles)))
$$;

-- Pauses the imports into the organization, and those that its users made or run, so that they go on where they were
-- once it is active again. Others cannot be paused, and end. Locks imports in the order of their ids.
create function pause_imports_of_org(p_org text) returns void language plpgsql as $$
declare
  import record;
  event bigint;
  new_state import_state;
  reason jsonb := jsonb_build_object('reason', 'organization', 'orgId', p_org);
begin
  for import in
    select i.id, i.kind, i.state, i.dry_run, i.resource_owner from imports i
    where i.state in ('running', 'undoing') and (i.state = 'undoing' or i.deadline > clock_timestamp()) and (
      exists (select from import_orgs o where o.import_id = i.id and o.org_id = p_org)
      or exists (select from users u where u.id in (i.created_by, i.run_by, i.undo_by) and u.org_id = p_org)
      or exists (select from import_authors a join users u on u.id = a.author
        where a.import_id = i.id and u.org_id = p_org))
    order by i.id for update of i
  loop
    continue when import.state not in ('running', 'undoing');
    new_state := case when import.state = 'running' and import.kind = 'bulk' and not import.dry_run
      then 'paused' else 'cancelled' end;
    event := nextval('events_sequence_seq');
    update imports set
      state = new_state,
      changed_at = clock_timestamp(),
      paused_at = case when new_state = 'paused' then clock_timestamp() end,
      finished_at = case when new_state = 'paused' then finished_at else coalesce(finished_at, clock_timestamp()) end,
      sequence = event,
      warnings = warnings || jsonb_build_array(jsonb_build_object('path', '', 'count', 1, 'message',
        format('The import was %s: the organization %s, which it imports into or whose user made or started a part of it, was deactivated or deleted.',
          case when new_state = 'paused' then 'paused' else 'stopped' end, p_org)))
    where id = import.id;
    insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
    values (event, 'import', import.id::text, import.resource_owner, 'import.' || new_state, 'system', reason);
    insert into audit_events (sequence, type, actor_kind, org_id, object_type, object_id, payload)
    values (event, 'import.' || new_state, 'system', nullif(import.resource_owner, 'instance'), 'import',
      import.id::text, reason);
    perform pg_notify('muster_import', import.id::text);
  end loop;
end
$$;

create function pause_imports_of_stopped_org() returns trigger language plpgsql as $$
begin
  perform pause_imports_of_org(old.id);
  return null;
end
$$;

create constraint trigger organizations_stopped after update of inactive_since, removed_at on organizations
  deferrable initially deferred for each row
  when (old.inactive_since is null and old.removed_at is null
    and (new.inactive_since is not null or new.removed_at is not null))
  execute function pause_imports_of_stopped_org();
