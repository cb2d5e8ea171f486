-- Writes a batch of users: users, events, metadata, links, second factors, passkeys, codes, mails, item states and
-- counts.
--
-- Its variants are what happens to items whose user exists: `fail`, `skip` and `update` as the import says, and
-- `optimistic`, which assumes that there are none. batch-statements.sql shows each as it is sent.
--
-- `optimistic` fails as a whole if a user exists, or if a deleted user of another organization keeps the id, which a
-- trigger of users checks. Without `on conflict`, PostgreSQL checks no index before it inserts, and has no speculative
-- insertion to confirm (src/backend/executor/README in its source). `update` leaves existing users to update-users.ts.
--
-- Every scan of `picked` reads a row up to the last column that it needs, so those that all of them need come first,
-- and columns that none needs are left out. Intake has normalized names to NFC and lower case.
--
-- The ordinals are in ascending order. Why items need a range of them too: `withinBatch` of entries/item.ts.
with picked as materialized (
  select i.ordinal, nextval('events_sequence_seq') as sequence, i.user_id, o.org_id,
    -- Null: nothing but metadata by key (`compact` of entries/factors.ts), which goes to the row of the user as it is, and
    -- the fields that the entry omits, which no new user has.
    case when jsonb_typeof(i.extras -> 'metadata') = 'array' then i.extras
      else nullif(i.extras - '{metadata,unsaid}'::text[], '{}') end as extras,
-- if skip
    -- `OMITS_ID` of entries/notes.ts.
    case jsonb_typeof(i.extras -> 'unsaid') when 'number' then (i.extras -> 'unsaid')::int & 1 = 1
      else coalesce(i.extras -> 'unsaid' ? 'userId', false) end as omits_id,
-- end
    i.totp_sealed, i.user_state,
    case when i.user_state = 'active' and i.password_hash is null then 'initial' else i.user_state end as new_state,
    i.email_verified, i.phone_verified, i.password_hash, i.password_sealed, i.email, i.user_name, i.user_name_key,
    i.given_name, i.family_name, i.nick_name, i.display_name, i.preferred_language, i.gender, i.email_key, i.phone,
    i.password_change_required, i.links,
    -- `FACT.secondFactorLost` of entries/facts.ts.
    i.sign_in & 1024 <> 0 as is_factor_lost,
    -- `isNumberEnough` of entries/sign-in.ts.
    coalesce(i.sign_in & 25165824 = 8388608 and (i.sign_in & 1006632960 = 0 or i.sign_in & 1140850688 <> 0), false)
      as is_number_enough,
    -- `isInvited` there, with `without_mail_codes`. The organization is asked only if the item wants it.
    case when i.sign_in & 1048576 <> 0 then passkeys_of_import(o.org_id) is not null else false end as wants_passkey,
    -- A list that is small, by key. Null: it gets rows of its own, as large values would make the row of the user large,
    -- and a key that is given twice fails there.
    case when jsonb_typeof(i.extras -> 'metadata') = 'object' then i.extras -> 'metadata'
    when pg_column_size(i.extras -> 'metadata') < 1000 then (
      select case when count(*) = count(distinct m.key) then jsonb_object_agg(m.key, translate(encode(
        decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64'), 'base64'), e'\n', '')) end
      from jsonb_to_recordset(i.extras -> 'metadata') as m (key text, value text)) end as metadata,
-- if fail, skip, update
    i.extras is not null and i.extras ? 'passkeys' and passkeys_taken(i.extras -> 'passkeys', i.user_id)
      as is_passkey_taken,
-- end
    -- `FACT.onlyEnterprise` of entries/facts.ts. The import is asked once, and only if the batch has such a user.
    coalesce(i.sign_in & 16384, 0) <> 0
      and (select not enterprise_mail_codes from imports where id = :importId) as without_mail_codes
  from unnest(:ordinals::int[]) as wanted (ordinal)
    join import_items i on i.ordinal = wanted.ordinal and i.import_id = :importId
      and i.ordinal between (:ordinals::int[])[1] and (:ordinals::int[])[cardinality(:ordinals::int[])]
    join import_orgs o on o.import_id = :importId and o.org_index = i.org_index
  where i.state = 'pending'
-- if optimistic, fail, update
    and i.password_sealed is null
-- if skip
    -- An existing user needs no hash.
    and (i.password_sealed is null or existing_human(o.org_id, i.user_id, i.user_name_key) is not null)
-- end
-- if fail, skip, update
  -- The first of two items with the same user is written.
  order by i.ordinal
-- end
),
created as (
  insert into users (
    id, org_id, kind, state, user_name, user_name_key, given_name, family_name, nick_name, display_name,
    preferred_language, gender, email, email_key, email_verified, phone, phone_verified, password_hash,
    password_changed_at, password_change_required, without_mail_codes, import_id, sequence, metadata)
  select
    user_id, org_id, 'human', new_state, user_name, user_name_key, given_name, family_name, nick_name, display_name,
    preferred_language, gender, email, email_key, email_verified, phone, phone_verified, password_hash,
    case when password_hash is not null then now() end, password_change_required, without_mail_codes, :importId,
    sequence, metadata
  from picked
-- if fail, update
  -- A deleted user of another organization keeps its id.
  where not user_id_removed_elsewhere(user_id, org_id) and not is_passkey_taken
  on conflict do nothing
-- if skip
  where password_sealed is null and not user_id_removed_elsewhere(user_id, org_id) and not is_passkey_taken
  on conflict do nothing
-- end
-- if optimistic
  returning 1
-- if fail, skip, update
  returning id, sequence
-- end
),
-- The picked items of the users that were created. Each use of it becomes a part of the query around it.
imported as not materialized (
-- if optimistic
  select * from picked
-- if fail, skip, update
  select p.* from picked p join created c on c.sequence = p.sequence
-- end
),
-- What few users have is looked for once.
rare as materialized (
  select user_id, metadata, extras, totp_sealed, is_factor_lost
  from imported where extras is not null or totp_sealed is not null or is_factor_lost
),
events_added as (
  -- A row that is longer than 2 kB would be compressed (PostgreSQL, TOAST), which takes longer than to write the batch's
  -- events in rows of up to 32 users.
  insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select 'users', (:importId::bigint)::text, org_id, 'user.human.imported', :editor,
    :payload::jsonb || jsonb_build_object('userIds', to_jsonb(array_agg(user_id)),
      'sequences', to_jsonb(array_agg(sequence)))
  from imported
  group by org_id, ordinal / 32
  returning jsonb_array_length(payload -> 'userIds') as users
),
metadata_added as (
  insert into user_metadata (user_id, key, value)
  select p.user_id, m.key, decode(rpad(m.value, (length(m.value) + 3) / 4 * 4, '='), 'base64')
  from rare p, jsonb_to_recordset(p.extras -> 'metadata') as m (key text, value text)
  where p.extras is not null and p.metadata is null
  returning 1
),
links_added as (
  insert into user_idp_links (user_id, idp_id, external_user_id, display_name)
  select p.user_id, l."configId", l."externalUserId", l."displayName"
  from rare p,
    jsonb_to_recordset(p.extras -> 'idps') as l ("configId" text, "externalUserId" text, "displayName" text)
  where p.extras is not null
  returning 1
),
totp_added as (
  insert into user_totp (user_id, id, secret, name, confirmed_at)
  select user_id, '1', totp_sealed, coalesce(extras ->> 'totpName', ''), now()
  from rare
  where totp_sealed is not null
  union all
  select p.user_id, (a.position + 1)::text, a.app ->> 'sealed', a.app ->> 'name', now()
  from rare p, jsonb_array_elements(p.extras -> 'totps') with ordinality as a (app, position)
  where p.extras is not null
  returning 1
),
factors_added as (
  insert into user_factors (user_id, otp_email, otp_sms, lost_at, recovery_sealed, recovery_left, recovery_made_at)
  select user_id, coalesce(extras -> 'otp' ? 'email', false), coalesce(extras -> 'otp' ? 'sms', false),
    case when is_factor_lost then now() end, extras -> 'recovery' ->> 'sealed',
    coalesce((extras -> 'recovery' -> 'left')::smallint, 0), case when extras ? 'recovery' then now() end
  from rare
  where is_factor_lost or (extras is not null and extras ?| '{otp,recovery}')
  returning 1
),
passkeys_added as (
  -- In one order, so that two batches with the same passkeys do not wait for each other.
  insert into user_passkeys (credential_id, user_id, public_key, sign_count, rp_id, user_handle, transports, name,
    backed_up, passwordless)
  select decode(k.id, 'base64'), p.user_id, decode(k.key, 'base64'), k.count, k."rpId", decode(k.handle, 'base64'),
    k.transports, k.name, k."backedUp", k.passwordless
  from rare p, jsonb_to_recordset(p.extras -> 'passkeys') as k (id text, key text, count bigint, "rpId" text,
    handle text, transports text[], name text, "backedUp" boolean, passwordless boolean)
  where p.extras is not null
  order by 1
  returning 1
),
codes_added as (
  -- The code of a user without a password sets one as well, so that nobody depends on a device.
  insert into codes (user_id, purpose, expires_at)
  select user_id,
    case when password_hash is null then 'initialise'::mail_kind when wants_passkey then 'add_passkey' else 'verify_email' end,
    now() + :codeTtlMs * interval '1 millisecond'
  from imported
  where user_state = 'active' and email is not null
    and (password_hash is null or not email_verified or wants_passkey and not without_mail_codes)
    -- Asked once for the batch, and for each user only where a policy can say no.
    and (not (select exists (select from login_policies where init_mail <> 'always'))
      or import_mails(org_id, password_hash is not null
        or (links is not null and (signs_in_by_link(org_id, links)
          or coalesce(passkeys_of_import(org_id) = any(links), false)))
        or (is_number_enough and numbers_sign_in(org_id))))
    and not (without_mail_codes and password_hash is null)
  returning id, user_id, purpose
),
mails_added as (
  insert into mail_outbox (kind, user_id, code_id, import_id)
  select case when c.user_id = any(array(select user_id from imported where wants_passkey)) then 'add_passkey' else purpose end,
    c.user_id, c.id, :importId
  from codes_added c
  returning 1
),
-- A data-modifying step runs to its end when its result is read, so every row exists before the batch is settled.
written as materialized (
  select
    (select count(*)::int from created) as users,
    (select coalesce(sum(users), 0)::int from events_added) as events,
    (select count(*)::int from metadata_added) as metadata,
    (select count(*)::int from links_added) as links,
    (select count(*)::int from totp_added) + (select count(*)::int from factors_added)
      + (select count(*)::int from passkeys_added) as second_factors,
    (select count(*)::int from mails_added) as mails
),
-- if skip
conflicted as materialized (
  select p.sequence, case when c.id is null then existing_human(p.org_id, p.user_id, p.user_name_key) end as existing
  from picked p left join created c on c.sequence = p.sequence
),
-- end
settled as (
  update import_items i set
-- if optimistic, update
    -- The payload of a written user is erased.
    state = 'succeeded', error = null, user_name_key = null, user_state = null, given_name = null, family_name = null,
    nick_name = null, display_name = null, preferred_language = null, gender = null, email = null, email_key = null,
    email_verified = null, phone = null, phone_verified = null, password_hash = null, password_sealed = null,
    totp_sealed = null, password_change_required = null, extras = null, entry_sealed = null
  -- `offset` keeps a copy of the whole row of each user out of the update, which PostgreSQL would check again with it.
  from (select ordinal from imported offset 0) p
-- if fail
    -- Success erases the payload; a conflict keeps it for a retry. No password and no entry is encrypted here.
    state = case when c.id is not null then 'succeeded'::item_state else 'failed' end,
    error = case
      when c.id is not null then null
      when p.is_passkey_taken and not user_is_taken(p.user_id, p.org_id, p.user_name_key) then :passkeyTaken::jsonb
      when user_id_conflicts(p.user_id, p.org_id, p.user_name_key) then :idTaken::jsonb
      else :nameTaken::jsonb end,
    user_name_key = case when c.id is null then i.user_name_key end,
    user_state = case when c.id is null then i.user_state end,
    given_name = case when c.id is null then i.given_name end,
    family_name = case when c.id is null then i.family_name end,
    nick_name = case when c.id is null then i.nick_name end,
    display_name = case when c.id is null then i.display_name end,
    preferred_language = case when c.id is null then i.preferred_language end,
    gender = case when c.id is null then i.gender end,
    email = case when c.id is null then i.email end,
    email_key = case when c.id is null then i.email_key end,
    email_verified = case when c.id is null then i.email_verified end,
    phone = case when c.id is null then i.phone end,
    phone_verified = case when c.id is null then i.phone_verified end,
    password_hash = case when c.id is null then i.password_hash end,
    totp_sealed = case when c.id is null then i.totp_sealed end,
    password_change_required = case when c.id is null then i.password_change_required end,
    extras = case when c.id is null then i.extras end
  from picked p left join created c on c.sequence = p.sequence
-- if skip
    -- An item that was sent without an id gets the id of the user with its name.
    state = case
      when c.id is not null then 'succeeded'::item_state when x.existing is not null then 'skipped' else 'failed' end,
    error = case
      when c.id is not null or x.existing is not null then null
      when p.is_passkey_taken and not user_is_taken(p.user_id, p.org_id, p.user_name_key) then :passkeyTaken::jsonb
      when user_id_conflicts(p.user_id, p.org_id, p.user_name_key) then :idTaken::jsonb
      else :nameTaken::jsonb end,
    user_id = case when p.omits_id then coalesce(x.existing, i.user_id) else i.user_id end,
    user_name_key = case when c.id is null and x.existing is null then i.user_name_key end,
    user_state = case when c.id is null and x.existing is null then i.user_state end,
    given_name = case when c.id is null and x.existing is null then i.given_name end,
    family_name = case when c.id is null and x.existing is null then i.family_name end,
    nick_name = case when c.id is null and x.existing is null then i.nick_name end,
    display_name = case when c.id is null and x.existing is null then i.display_name end,
    preferred_language = case when c.id is null and x.existing is null then i.preferred_language end,
    gender = case when c.id is null and x.existing is null then i.gender end,
    email = case when c.id is null and x.existing is null then i.email end,
    email_key = case when c.id is null and x.existing is null then i.email_key end,
    email_verified = case when c.id is null and x.existing is null then i.email_verified end,
    phone = case when c.id is null and x.existing is null then i.phone end,
    phone_verified = case when c.id is null and x.existing is null then i.phone_verified end,
    password_hash = case when c.id is null and x.existing is null then i.password_hash end,
    password_sealed = case when c.id is null and x.existing is null then i.password_sealed end,
    totp_sealed = case when c.id is null and x.existing is null then i.totp_sealed end,
    password_change_required = case when c.id is null and x.existing is null then i.password_change_required end,
    extras = case when c.id is null and x.existing is null then i.extras end,
    entry_sealed = case when c.id is null and x.existing is null then i.entry_sealed end
  from picked p left join created c on c.sequence = p.sequence
    -- An item with an encrypted password whose user was just deleted stays pending; its next run hashes the password.
    join conflicted x on x.sequence = p.sequence and (p.password_sealed is null or x.existing is not null)
-- end
  where i.import_id = :importId
    and i.ordinal between (:ordinals::int[])[1] and (:ordinals::int[])[cardinality(:ordinals::int[])]
    and i.ordinal = p.ordinal and i.state = 'pending'
-- if optimistic, update
  returning i.org_index, i.state
-- if fail, skip
  returning i.org_index, i.state, i.ordinal, i.error
-- end
),
-- if fail, skip
-- Sorts the ordinals of each error, as sorting the errors with them takes longer; keeps `FIRST` of entries/outcome.ts.
failures_counted as (
  insert into import_failures (import_id, error, users, first)
  select :importId, error, cardinality(ordinals), array(select o from unnest(ordinals) as o order by o limit 5)
  from (select error, array_agg(ordinal) as ordinals from settled where state = 'failed' group by error) alike
),
-- end
per_org as (
  select org_index, count(*) filter (where state = 'succeeded')::int as succeeded,
    count(*) filter (where state = 'skipped')::int as skipped, count(*) filter (where state = 'failed')::int as failed
  from settled group by org_index
),
done as (
  select coalesce(sum(succeeded), 0)::int as succeeded, coalesce(sum(skipped), 0)::int as skipped,
    coalesce(sum(failed), 0)::int as failed, coalesce(array_agg(org_index), '{}') as orgs,
    coalesce(array_agg(per_org.succeeded), '{}') as org_succeeded,
    coalesce(array_agg(per_org.skipped), '{}') as org_skipped, coalesce(array_agg(per_org.failed), '{}') as org_failed
  from per_org
)
-- Raises MU001 when the import does not run, which rolls everything back.
select succeeded, skipped, failed,
  case when succeeded + skipped + failed > 0 then
-- if optimistic, fail, update
    settle_batch(:importId, succeeded, failed, mails, events, orgs, org_succeeded, org_failed)
-- if skip
    settle_outcomes(:importId, succeeded, skipped, failed, mails, orgs, org_succeeded, org_skipped, org_failed)
-- end
  end as state,
  ran.*
from done cross join written left join (
  -- The columns `RAN` of entries/outcome.ts.
  select id as "importId", kind, dry_run as "dryRun",
    extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds
  from imports where id = :importId) ran on true
