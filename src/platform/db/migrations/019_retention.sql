-- The sweeps (src/db/sweep.ts) find what is past its time by these indexes. What an import writes enters none of them
-- before it settles.
create index mail_outbox_settled on mail_outbox (settled_at) where settled_at is not null;
create index codes_used on codes (used_at) where used_at is not null;
create index codes_unused on codes (expires_at)
  where used_at is null and purpose not in ('verify_email', 'initialise');
create index sessions_age on sessions (created_at);
create index personal_access_tokens_expiry on personal_access_tokens (expires_at) where expires_at is not null;
create index machine_keys_expiry on machine_keys (expires_at) where expires_at is not null;

-- Not null: the import is being removed, so nobody sees it any more, and its items below this ordinal are gone.
alter table imports add column removed_to integer;
create index imports_removable on imports (finished_at)
  where kind = 'bulk' and erased_to >= total and removed_to is null;
create index imports_removing on imports (id) where removed_to is not null;
