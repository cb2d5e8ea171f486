/** Mails and webhooks that wait, from partial indexes that hold pending rows only. */
import type { Db } from '../../db/pool.ts';
import type { Measure } from '../../http/metrics/metrics.ts';
import { NEXT_IMPORT } from '../../mail/claim.ts';

/** Counting stops here: every API process counts in each scrape, and a larger number would say no more than "very many". */
const MOST = 10_000;
/** Imports whose oldest mail is looked up. */
const MOST_IMPORTS = 1000;

export function outboxes(db: Db): Measure[] {
  return [
    {
      name: 'muster_mails_pending',
      help: `Mails not yet sent, also those that are held; at most ${MOST} are counted.`,
      read: () => one(db, PENDING_MAILS),
    },
    {
      name: 'muster_mail_outbox_age_seconds',
      help: 'Age of the next mail to be sent, of the import whose next mail is the oldest. Held mails do not count.',
      read: () => one(db, OUTBOX_AGE),
    },
    {
      name: 'muster_webhooks_pending',
      help: `Webhook messages not yet delivered; at most ${MOST} are counted.`,
      read: () => one(db, PENDING_WEBHOOKS),
    },
  ];
}

export const PENDING_MAILS = `select count(*)::float8 as n from (
  select from mail_outbox where state = 'pending' limit ${MOST}) as r`;

export const PENDING_WEBHOOKS = `select count(*)::float8 as n from (
  select from webhook_deliveries where state = 'pending' limit ${MOST}) as r`;

// The next mail of each import, not the oldest of all: one address that a mail server refuses for hours says nothing
// about the others, and the index has the next mails first. Released mails are as old as their release.
export const OUTBOX_AGE = `
with recursive ${NEXT_IMPORT},
next_mail (since) as (
  (select created_at from mail_outbox where state = 'pending' and import_id is null
    order by next_attempt_at, id limit 1)
  union all
  (select case when i.mails = 'released' then greatest(m.created_at, i.changed_at) else m.created_at end
    from next_import n
    left join lateral (select mails, changed_at from imports where id = n.id offset 0) i on true
    cross join lateral (
      select created_at from mail_outbox where state = 'pending' and import_id = n.id
      order by next_attempt_at, id limit 1) m
    where n.id is not null and i.mails is distinct from 'held' limit ${MOST_IMPORTS})
)
select coalesce(greatest(0, extract(epoch from clock_timestamp() - min(since))), 0)::float8 as n from next_mail`;

async function one(db: Db, text: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(text);
  return rows[0]?.n ?? 0;
}
