-- The password source of an import, for entries that are corrected after its acceptance.
alter table imports add column password_source text collate "C";
