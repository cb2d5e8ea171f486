-- The metadata that an import wrote with the user, if it is small: by key, base64. Rows of their own cost each entry 130
-- bytes more, and as many of the log again. An entry of user_metadata with the same key counts instead.
alter table users add column metadata jsonb;

-- All metadata.
create view metadata as
  select user_id, key, value from user_metadata
  union all
  select u.id, m.key collate "C", decode(m.value, 'base64') from users u, jsonb_each_text(u.metadata) as m
  where u.metadata is not null and not exists (select from user_metadata t where t.user_id = u.id and t.key = m.key);
