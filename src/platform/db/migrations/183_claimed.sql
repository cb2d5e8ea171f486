-- When a provider first named a user who nobody had proved to be here (src/signin/providers/claim.ts). What was begun on
-- the account before ended then.

alter table users add column claimed_at timestamptz;
