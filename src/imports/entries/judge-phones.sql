-- Finds verified numbers, by their keys, that several users of an organization have, and notes them in the items (links.ts).
--
-- 8388608 and 16777216 are `phone` and `phoneHeldTwice` of `FACT` (sign-in.ts). `offset 0`: users are looked up by index,
-- as an import may be small and the instance large.
with items as materialized (
  select i.ordinal, i.state, o.org_id, i.user_id, i.user_name_key,
    case when i.state = 'pending' then case when i.phone_verified then phone_key(i.phone) end else u.phone end as phone,
    coalesce(i.sign_in, 0) & 8388608 <> 0 as is_asked
  from import_items i join import_orgs o on o.import_id = :importId and o.org_index = i.org_index
    left join lateral (
      select case when phone_verified then phone_key(phone) end as phone from users
      where i.state = 'succeeded' and i.sign_in & 8388608 <> 0 and id = i.user_id offset 0) u on true
  where i.import_id = :entriesOf and i.state in ('pending', 'succeeded')
    and (i.phone_verified or i.sign_in & 8388608 <> 0)
    and not exists (
      select from import_items v
      where v.import_id = :importId and :importId <> :entriesOf and v.ordinal = i.ordinal)
),
asked as materialized (select distinct org_id, phone from items where is_asked and phone is not null),
taken as (
  -- Of two pending items, or of an item and a user whom it does not update.
  select org_id, phone from items join asked using (org_id, phone)
  where state = 'pending' group by 1, 2 having count(*) > 1
  union
  select a.org_id, a.phone
  from items a
    cross join lateral (
      select id, user_name_key from users
      where phone_key(phone) = a.phone and phone_verified and org_id = a.org_id and id <> a.user_id offset 0) u
  where a.is_asked and (a.state = 'succeeded' or a.user_name_key is null or u.user_name_key <> a.user_name_key)
),
judged as (
  select i.ordinal, t.phone is not null as is_held
  from items i left join taken t using (org_id, phone) where i.is_asked
)
update import_items i set sign_in = i.sign_in & ~16777216 | case when j.is_held then 16777216 else 0 end
from judged j
where i.import_id = :entriesOf and i.ordinal = j.ordinal and (i.sign_in & 16777216 <> 0) <> j.is_held
