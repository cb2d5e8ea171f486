-- How imported users sign in: what is known of each user, as the bits of src/imports/entries/sign-in.ts; null: nothing
-- unusual, or an item of an earlier version.
alter table import_items add column sign_in integer;

-- How many users of an import that are or can be imported have which facts.
create table import_sign_ins (
  import_id bigint not null references imports (id) on delete cascade,
  org_index integer not null,
  facts integer not null,
  users integer not null,
  primary key (import_id, org_index, facts)
);

-- The outcomes for which they were counted; empty: they must be counted; null: an import of an earlier version, whose
-- items have no facts.
alter table imports add column sign_ins_of text;
