-- The ids of deleted users. Each can be used again in its organization only: elsewhere, `sub` would change its person.

create table removed_user_ids (
  id text collate "C" primary key,
  org_id text collate "C" not null
);

insert into removed_user_ids (id, org_id)
select distinct on (aggregate_id) aggregate_id, resource_owner
from events where type = 'user.removed' order by aggregate_id, sequence desc;

create function keep_removed_user_ids() returns trigger language plpgsql as $$
begin
  insert into removed_user_ids (id, org_id) select id, org_id from removed order by id
  on conflict (id) do update set org_id = excluded.org_id;
  return null;
end
$$;

create trigger users_removed after delete on users referencing old table as removed
  for each statement execute function keep_removed_user_ids();

-- Whether a deleted user of another organization had this id. Not inlined, so that it is always one index lookup.
create function user_id_removed_elsewhere(p_id text, p_org text) returns boolean
language plpgsql set enable_seqscan = off as $$
begin
  return exists (select from removed_user_ids where id = p_id and org_id <> p_org);
end
$$;

-- Runs after the insert, which waits for a deletion under way: it sees every id that was given up until then. It is one
-- call for a whole batch.
create function refuse_removed_user_ids() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  if exists (select from added a where (select r.org_id from removed_user_ids r where r.id = a.id) <> a.org_id) then
    raise unique_violation using
      message = 'the id belonged to a deleted user of another organization', constraint = 'users_pkey';
  end if;
  return null;
end
$$;

create trigger users_added after insert on users referencing new table as added
  for each statement execute function refuse_removed_user_ids();

-- Whether no user of this organization can be created with this id.
create function user_id_taken(p_id text, p_org text) returns boolean language sql as $$
  select exists (select from users where id = p_id) or user_id_removed_elsewhere(p_id, p_org)
$$;
