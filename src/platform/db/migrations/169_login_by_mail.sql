-- Who may sign in with a code by mail, and whether imports mail users who have a way in. The stricter value comes first.

create type mail_code_use as enum ('off', 'withoutPassword', 'all');
create type init_mail_rule as enum ('always', 'unlessWayIn');

alter table login_policies
  add column mail_code mail_code_use not null default 'withoutPassword',
  add column init_mail init_mail_rule not null default 'always';
