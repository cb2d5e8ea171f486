-- Erasure of people: the ids of deleted users are kept as hashes, and requests wait here for a worker that removes what
-- other tables still say about the person.

-- Makes the hashes of this instance differ from those of others.
create table removed_users_salt (
  singleton boolean primary key default true check (singleton),
  salt bytea not null
);

insert into removed_users_salt (salt) values (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- Ids that belonged to deleted users, who stay the only ones of their organization to have them. Takes the place of
-- removed_user_ids, whose rows a worker moves here.
create table removed_users (
  id_hash bytea primary key,
  org_id text collate "C" not null
);

create table erasures (
  user_id text collate "C" primary key,
  org_id text collate "C" not null,
  -- What stands in place of the id from then on.
  tombstone text collate "C" not null,
  -- User name, login names, address and number, as they are and as keys.
  names text[] not null,
  editor text collate "C" not null,
  created_at timestamp with time zone not null default clock_timestamp()
);

create function removed_id_hash(p_id text) returns bytea language sql stable as $$
  select substring(sha256((select salt from removed_users_salt) || convert_to(p_id, 'UTF8')) for 16)
$$;

create or replace function keep_removed_user_ids() returns trigger language plpgsql as $$
begin
  insert into removed_users (id_hash, org_id) select removed_id_hash(id), org_id from removed order by 1
  on conflict (id_hash) do update set org_id = excluded.org_id;
  return null;
end
$$;

-- The organization whose deleted user had this id.
create function org_of_removed_id(p_id text) returns text
language plpgsql stable set enable_seqscan = off as $$
begin
  return coalesce(
    (select org_id from removed_users where id_hash = removed_id_hash(p_id)),
    (select org_id from removed_user_ids where id = p_id));
end
$$;

create or replace function user_id_removed_elsewhere(p_id text, p_org text) returns boolean
language plpgsql set enable_seqscan = off as $$
begin
  return coalesce(org_of_removed_id(p_id) <> p_org, false);
end
$$;

create or replace function refuse_removed_user_ids() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  if not exists (select from removed_users) and not exists (select from removed_user_ids) then
    return null;
  end if;
  if exists (select from added a where org_of_removed_id(a.id) <> a.org_id) then
    raise unique_violation using
      message = 'the id belonged to a deleted user of another organization', constraint = 'users_pkey';
  end if;
  return null;
end
$$;
