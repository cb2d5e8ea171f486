-- What lets a user of the organization in without a mail: the name of the passkeys that sign in there (`passkeyName` of
-- link-names.ts; null: none do), and whether a verified number does. Both depend on settings of the session, too.
create function passkeys_of_import(org text) returns text language sql stable as $$
  select case when p.passkeys then E'\x01' || nullif(current_setting('muster.rp_id', true), '') end from login_policies p
  where p.org_id = org or p.org_id is null order by p.org_id nulls last limit 1
$$;

create function numbers_sign_in(org text) returns boolean language sql stable as $$
  select p.sms_code <> 'off' and coalesce(current_setting('muster.text_messages', true) = 'on', false) from login_policies p
  where p.org_id = org or p.org_id is null order by p.org_id nulls last limit 1
$$;
