-- How many users of an import failed with which error, so that causes are shown without reading the failed users. Every
-- batch with failures adds rows. Whatever changes failed users deletes them: src/imports/failures.ts.
create table import_failures (
  import_id bigint not null,
  error jsonb not null,
  users integer not null,
  -- The lowest ordinals of the batch.
  first integer[] not null
);
create index import_failures_import on import_failures (import_id);
