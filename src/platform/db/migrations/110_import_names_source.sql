-- The system that the users of an import come from, for people who read the list of imports; null if nobody said it.
alter table imports add column source text collate "C";
