-- How pages and mails look: of the instance (without an organization, always there), and what organizations have of
-- their own, which goes before it field by field. `settings` is `BrandingSettings` of src/contract/branding.ts without
-- the picture, which pages do not read: they name its hash, and browsers ask for it.
create table branding (
  org_id text collate "C" references organizations (id) unique nulls not distinct,
  settings jsonb not null,
  logo bytea,
  logo_type text check (logo_type in ('image/png', 'image/webp')),
  logo_hash text collate "C",
  sequence bigint not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  check (num_nulls(logo, logo_type, logo_hash) in (0, 3))
);

create index branding_logo on branding (logo_hash) where logo_hash is not null;

insert into branding (org_id, settings, sequence) values (null, '{}', 0);
