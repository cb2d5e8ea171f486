-- users_listed replaces it. Until they end, processes of the previous release list organizations without an index.
drop index concurrently if exists users_org;
