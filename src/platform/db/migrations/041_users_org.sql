-- Lists users of an organization in the order of names: each state is in order, and a search merges the states.
-- The condition, true for every user, keeps all other statements from this index. While a table is small, all its indexes cost the
-- same; a look-up by name and organization could choose this one, keep its plan, and read a whole organization each time.
create index concurrently if not exists users_org on users (org_id, state, user_name_key) where sequence >= 0;
