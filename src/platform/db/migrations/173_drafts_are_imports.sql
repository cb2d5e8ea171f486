-- A draft is an import before it runs: its state, time of change and sequence are those of the import's own row. What
-- only a draft has stays beside it, as the row of an import changes with every batch of users.
--
-- The kind `draft` keeps processes of earlier versions away: they list, show, run and remove only imports of the kinds
-- that they know. `checked` is no value: a draft reads so when the dry run of its check has ended.

-- PostgreSQL uses a new value only after it was committed, so migrate.ts executes these statements one transaction earlier.
alter type import_kind add value if not exists 'draft';
alter type import_state add value if not exists 'uploading' before 'running';
alter type import_state add value if not exists 'converting' before 'running';
alter type import_state add value if not exists 'unreadable' before 'running';
alter type import_state add value if not exists 'draft' before 'running';
alter type import_state add value if not exists 'checking' before 'running';
alter type import_state add value if not exists 'discarded' before 'running';

-- Before the rows of imports, as whoever changes a draft locks them in this order.
lock table import_drafts;

update imports i set kind = 'draft', state = d.state::text::import_state, sequence = d.sequence, changed_at = d.changed_at
from import_drafts d
where d.import_id = i.id and d.state <> 'started' and i.state = 'receiving';

-- Work waits for as long as requested_at is set. A worker of an earlier version notices that the work is no longer its own.
update import_drafts set requested_at = null where state not in ('converting', 'checking');

drop index import_drafts_due;
alter table import_drafts drop column state, drop column sequence, drop column changed_at;
alter table import_drafts rename to import_preparations;
alter table import_preparations rename constraint import_drafts_pkey to import_preparations_pkey;
alter table import_preparations rename constraint import_drafts_import_id_fkey to import_preparations_import_id_fkey;
alter index import_drafts_expires rename to import_preparations_expires;
create index import_preparations_due on import_preparations (requested_at) where requested_at is not null;

-- For processes of earlier versions, until all are replaced: their workers find no draft, and their requests make none.
create view import_drafts as
select import_id, 'discarded'::draft_state as state, org_id, orgs, conversion, settings, run, requested_at, attempts, holder,
  held_until, progress, result, error, check_id, 0::bigint as sequence, now() as changed_at, expires_at
from import_preparations where false
with check option;
