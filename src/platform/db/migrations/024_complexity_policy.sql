-- How long new passwords must be: the policy of the instance, and those of organizations that have set their own.

create table password_complexity_policies (
  org_id text collate "C" unique nulls not distinct references organizations (id),
  min_length integer not null check (min_length between 1 and 64),
  max_length integer not null check (max_length between 64 and 200),
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
insert into password_complexity_policies (org_id, min_length, max_length, sequence) values (null, 8, 200, 0);
