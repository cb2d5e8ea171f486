-- Whether a user other than `of_user` has one of these passkeys: `passkeys` of `extras` of an item. By index, whatever
-- the planner knows of the size of the table.
create function passkeys_taken(passkeys jsonb, of_user text) returns boolean language plpgsql stable
  set enable_seqscan to 'off' set enable_nestloop to 'on' as $$
begin
  return exists (
    select from jsonb_to_recordset(passkeys) as k (id text) cross join lateral (
      select from user_passkeys where credential_id = decode(k.id, 'base64') and user_id <> of_user offset 0) p);
end
$$;

-- Whether a new user with this id and name is refused whatever their passkeys are.
create function user_is_taken(p_id text, p_org text, p_name_key text) returns boolean language sql as $$
  select exists (select from users where id = p_id)
    or exists (select from users where org_id = p_org and user_name_key = p_name_key)
    or user_id_removed_elsewhere(p_id, p_org)
$$;
