-- The list of imports shows bulk imports alone, newest first; those of one user may be a hundred thousand a day.
create index imports_bulk on imports (id) where kind = 'bulk';
