-- The language of a mail that somebody sends to themselves to see it; its facts are made up. Null: a mail that is meant.
alter table mail_outbox add column sample text;
-- The mails that a dry run predicts: how many users would get which kind, by the language that they prefer. A key is
-- `initialise de`; without a language for users who prefer none that there are texts in.
alter table import_dry_runs add column mails jsonb not null default '{}';
