-- The names of the files of users that a draft was started with: the files themselves are erased then.
alter table imports add column files text[];
