-- A change of an item's state stays on its page and touches no index (PostgreSQL, "Heap-Only Tuples"): no index may name the
-- state, and pages keep room for the short rows that are left when the payload goes.
drop index import_items_failed;
create index import_items_failed on import_items (import_id, ordinal) where error is not null;
alter table import_items set (fillfactor = 80);
