-- As before, with a quick way out: without deleted users, a batch needs no lookup for each of its users.
create or replace function refuse_removed_user_ids() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  if not exists (select from removed_user_ids) then
    return null;
  end if;
  if exists (select from added a where (select r.org_id from removed_user_ids r where r.id = a.id) <> a.org_id) then
    raise unique_violation using
      message = 'the id belonged to a deleted user of another organization', constraint = 'users_pkey';
  end if;
  return null;
end
$$;
