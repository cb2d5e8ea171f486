-- The mails that a dry run predicts for the users of each organization, as those of the whole dry run in
-- import_dry_runs. Null: none yet, or a dry run of an earlier version.
alter table import_orgs add column mails jsonb;
