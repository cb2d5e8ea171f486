/** Webhooks that wait or failed, for the page of the service's state. Call it for an IAM_OWNER only. */
import type { Db } from '../../db/pool.ts';

/** Counting stops here: a larger number would say no more than "very many". */
const MOST = 100_000;

export async function webhookFacts(db: Db): Promise<{ pending: number; failedLastWeek: number }> {
  const counted = (condition: string) =>
    `(select count(*)::int from (select from webhook_deliveries where ${condition} limit ${MOST}) as d)`;
  const { rows } = await db.query<{ pending: number; failedLastWeek: number }>(
    `select ${counted(`state = 'pending'`)} as pending,
       ${counted(`state = 'failed' and settled_at > now() - interval '7 days'`)} as "failedLastWeek"`,
  );
  return rows[0] ?? { pending: 0, failedLastWeek: 0 };
}
