-- Lists users of an organization in the order of names: each state is in order, and a search merges the states.
-- Columns of fixed length come first, and org_id only in the leaves: a comparison of two entries then needs no offset to be
-- computed and reads no long text, which makes the insert of a user cheaper than with users_org. hashtext is what hash indexes of
-- text use, so pg_upgrade keeps it.
-- The condition, true for every user, keeps all other statements from this index. While a table is small, all its indexes cost the
-- same; a look-up by name and organization could choose this one, keep its plan, and read a whole organization each time.
create index concurrently if not exists users_listed on users (hashtext(org_id), state, user_name_key) include (org_id) where sequence >= 0;
