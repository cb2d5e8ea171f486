-- Codes by mail for a sign-in.

alter type mail_kind add value 'sign_in';

-- Who may enter a code: the sign-in or the session that asked for it. Holders are hashes; rows end with their code.
create table code_holders (
  code_id bigint,
  holder bytea,
  tries integer not null default 0,
  created_at timestamptz not null default now(),
  primary key (code_id, holder)
);
create index code_holders_age on code_holders (created_at);

-- A session in which neither was checked is not open yet: it waits for its code.
alter table sessions
  add column password_verified boolean not null default true,
  add column otp_email_verified_at timestamptz;
create index sessions_waiting on sessions (created_at) where not password_verified and otp_email_verified_at is null;
