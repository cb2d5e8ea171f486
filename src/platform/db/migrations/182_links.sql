-- Links sign users in: whose each name of a provider is, mails about links, and the links of imported users in their
-- predictions.

alter type mail_kind add value 'link_added';
alter type mail_kind add value 'link_removed';

-- Under which names the users of an organization may have links to providers, in lower case, and to which provider each
-- leads: first the ids and aliases of the organization's own, then those of the instance's. Null: those of the instance.
create function idp_names(org text) returns table (name text, idp_id text, is_enabled boolean) language sql stable as $$
  select distinct on (n.name) n.name, i.id, coalesce((i.settings ->> 'isEnabled')::boolean, true)
  from idps i cross join lateral (
    select lower(i.id) as name
    union select lower(alias collate "C") from jsonb_array_elements_text(coalesce(i.settings -> 'aliases', '[]')) as alias) n
  where i.org_id = org or i.org_id is null
  order by n.name, i.org_id nulls last, i.created_at, i.id
$$;

-- Whether a user of the organization with links of these names signs in by a provider.
create function signs_in_by_link(org text, links text[]) returns boolean language sql stable as $$
  select exists (
    select from idp_names(org) n where n.is_enabled
      and n.name in (select lower(link collate "C") from unnest(links) as link))
$$;

-- The names under which the user has links, without those that another user of the organization has too.
alter table import_items add column links text[];

alter table import_sign_ins add column links text[] not null default '{}';
alter table import_sign_ins drop constraint import_sign_ins_pkey;
create index import_sign_ins_import on import_sign_ins (import_id);

-- The links of users whom earlier versions imported are read when the users are counted again, as soon as somebody reads
-- the result.
update imports i set sign_ins_of = '' where sign_ins_of <> '' and not dry_run
  and exists (select from import_sign_ins s where s.import_id = i.id and s.facts & 8192 <> 0);
