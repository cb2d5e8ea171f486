-- When the next mail may go, where MAIL_RATE limits them: one row for all processes.
create table mail_pace (
  name text primary key,
  free_at timestamptz not null
);
