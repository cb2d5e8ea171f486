-- The SHA-256 of the files of users that an import was made from, by which the same file is recognized when it comes
-- again. It stays after the files are erased, as long as the import.
create table import_file_hashes (
  import_id bigint not null references imports (id) on delete cascade,
  file_id text collate "C" not null,
  sha256 bytea not null,
  primary key (import_id, file_id)
);

create index import_file_hashes_sha256 on import_file_hashes (sha256);
