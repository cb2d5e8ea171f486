-- Whether users must have a second factor. Without an organization it is the instance's default, which is always there.
create table login_policies (
  org_id text collate "C" unique nulls not distinct references organizations (id),
  force_mfa boolean not null,
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
insert into login_policies (org_id, force_mfa, sequence) values (null, false, 0);
