-- Phone numbers are stored as they were sent, `+41 79 123 45 67` or `tel:+41-79-123-45-67`; their key is what they have in
-- common. Null for a text that is no whole international number. `signInNumber` of src/platform/phone.ts has the rule too.
create function phone_key(phone text) returns text language sql immutable parallel safe as $$
  select case when phone ~* '^(tel:)?\+[-.() ]*[0-9][-.() 0-9]*$'
    then substring(regexp_replace(replace(phone, '(0)', ''), '[^+0-9]', '', 'g') from '^\+[1-9][0-9]{1,14}$') end
$$;

drop index users_phone;
create index users_phone on users (phone_key(phone), org_id) where phone_verified;
