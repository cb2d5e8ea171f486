-- Digest of the file that was applied; an edited file is refused at the next start (migrate.ts).
alter table migrations add column checksum text;

-- The counts and the end of a batch were written twice, here and in settle_outcomes: a batch that skips nobody is one that
-- skips 0 users. What is left here is its own check.
create or replace function settle_batch(
  p_import bigint, p_succeeded integer, p_failed integer, p_mails integer, p_events integer,
  p_orgs integer[], p_org_succeeded integer[], p_org_failed integer[]
) returns import_state language plpgsql as $$
begin
  if p_events <> p_succeeded then
    raise exception 'a batch settled % users with % events', p_succeeded, p_events;
  end if;
  return settle_outcomes(
    p_import, p_succeeded, 0, p_failed, p_mails,
    p_orgs, p_org_succeeded, array_fill(0, array[cardinality(p_orgs)]), p_org_failed);
end
$$;
