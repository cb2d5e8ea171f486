-- The newest migration that the worker's program has, so that other processes write nothing that it could not read. 0: it
-- began before this migration.
alter table workers add column schema integer not null default 0;
