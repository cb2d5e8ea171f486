-- Finds accounts at providers that are held twice, and notes them in the items (links.ts).
--
-- `offset 0`: links and users are looked up by index, as an import may be small and the instance large.
--
-- `presets` are the types of the presets' aliases. 65536 and 8192 are `heldTwice` and `link` of `FACT`, 20 is
-- `MOST_NAMES` (sign-in.ts).
with names as materialized (
  select o.org_index, n.name, n.idp_id
  from import_orgs o cross join lateral idp_names(o.org_id) n where o.import_id = :importId
),
items as materialized (
  select i.ordinal, i.state, o.org_id, i.org_index, i.user_id, i.user_name_key, i.extras
  from import_items i join import_orgs o on o.import_id = :importId and o.org_index = i.org_index
  where i.import_id = :entriesOf and i.state in ('pending', 'succeeded')
    and (i.links is not null or i.sign_in & (65536 | 8192) <> 0)
    and not exists (
      select from import_items v
      where v.import_id = :importId and :importId <> :entriesOf and v.ordinal = i.ordinal)
),
-- Those of pending items by their entries, those of written users as they are now.
sent as (
  select i.ordinal, i.org_index, i.org_id, i.user_id, i.user_name_key, l."configId" as name,
    l."externalUserId" as subject
  from items i
    cross join lateral jsonb_to_recordset(i.extras -> 'idps') as l ("configId" text, "externalUserId" text)
  where i.state = 'pending'
  union all
  select i.ordinal, i.org_index, i.org_id, i.user_id, null, l.idp_id, l.external_user_id
  from items i cross join lateral (select * from user_idp_links where user_id = i.user_id offset 0) l
  where i.state = 'succeeded'
),
-- The provider that a name leads to, or what stands for it.
accounts as materialized (
  select s.*, coalesce(n.idp_id, :presets::jsonb ->> lower(s.name collate "C"), lower(s.name collate "C")) as provider
  from sent s left join names n on n.org_index = s.org_index and n.name = lower(s.name collate "C")
),
-- Of two items, or of an item and a user whom it does not update.
taken as (
  select org_id, provider, subject from accounts group by 1, 2, 3 having count(distinct user_id) > 1
  union
  select a.org_id, a.provider, a.subject
  from accounts a
    cross join lateral (
      select * from user_idp_links where external_user_id = a.subject and user_id <> a.user_id offset 0) x
    cross join lateral (select org_id, user_name_key from users where id = x.user_id offset 0) u
    left join names n on n.org_index = a.org_index and n.name = lower(x.idp_id collate "C")
  where u.org_id = a.org_id and (a.user_name_key is null or u.user_name_key <> a.user_name_key)
    and a.provider
      = coalesce(n.idp_id, :presets::jsonb ->> lower(x.idp_id collate "C"), lower(x.idp_id collate "C"))
),
judged as (
  select a.ordinal, bool_or(t.subject is not null) as is_held,
    (array_agg(distinct a.name collate "C") filter (where t.subject is null))[1:20] as links
  from accounts a left join taken t using (org_id, provider, subject) group by a.ordinal
)
update import_items i set links = nullif((select array_agg(l) from unnest(i.links) as l where l collate "C" < E'\x04') || j.links, '{}'),
  sign_in = i.sign_in & ~65536 | case when j.is_held then 65536 else 0 end
from judged j
where i.import_id = :entriesOf and i.ordinal = j.ordinal
  and ((select array_agg(l) from unnest(i.links) as l where l collate "C" >= E'\x04') is distinct from j.links or (i.sign_in & 65536 <> 0) <> j.is_held)
