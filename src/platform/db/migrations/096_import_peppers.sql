-- The pepper of an import, while users have hashes that need it (src/passwords/pepper.ts).
create table import_peppers (
  import_id bigint primary key,
  mode text not null check (mode in ('suffix', 'prefix', 'hmac-sha256-hex', 'hmac-sha256-base64')),
  sealed text not null
);
