-- Users who came only by a connection of their company, and whom an import leaves out of mail codes.
alter table imports add column enterprise_mail_codes boolean not null default true;

-- No code by mail signs the user in, and no mail that they or a stranger can ask for gives them a password.
alter table users add column without_mail_codes boolean not null default false;

-- Mails to the users of an import who have not signed in, which somebody asked for.
alter type mail_kind add value if not exists 'how_to_sign_in';

create table import_sign_in_mails (
  import_id bigint primary key references imports (id) on delete cascade,
  asked_by text collate "C" not null,
  asked_at timestamptz not null default now(),
  url_template text,
  -- The items before this ordinal are done; null: all are, or it was stopped.
  next integer,
  stopped boolean not null default false,
  -- Mails that were written, and what became of them, of all times that somebody asked.
  users integer not null default 0,
  sent integer not null default 0,
  failed integer not null default 0
);
create index import_sign_in_mails_open on import_sign_in_mails (import_id) where next is not null;
