-- Finds the message of each organization that is due longest, however many messages the others have. The condition is true for
-- the same messages as that of webhook_deliveries_due, but PostgreSQL cannot tell: while the table is small, all its indexes cost the
-- same, and a look-up by organization could choose that one, and read the messages of all others.
create index concurrently if not exists webhook_deliveries_turns on webhook_deliveries (org_id, next_attempt_at) where settled_at is null;
