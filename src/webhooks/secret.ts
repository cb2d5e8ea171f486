/**
 * An organization's webhook secret: at most one, encrypted at rest, shown once when it is created.
 * A new one replaces the old one at once, also for messages that are still to be sent.
 * On crash: before the commit, the old one stays.
 */
import { type AppendedEvent, appendEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import { newWebhookSecret } from './signature.ts';

/** The purpose and the organization that an encrypted secret is bound to. */
export const webhookSeal = (orgId: string) => `webhook-secret:${orgId}`;

/** Sets a new secret for an existing organization; call it in a transaction. */
export async function setWebhookSecret(
  db: Db,
  secrets: Secrets,
  orgId: string,
  editor: string,
): Promise<{ secret: string; event: AppendedEvent }> {
  const secret = newWebhookSecret();
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.webhook_secret.set',
    editor,
  });
  await db.query('update organizations set webhook_secret = $2, sequence = $3, changed_at = $4 where id = $1', [
    orgId,
    secrets.seal(secret, webhookSeal(orgId)),
    event.sequence,
    event.createdAt,
  ]);
  return { secret, event };
}

/** The organization's secret, and the time by the clock of PostgreSQL; undefined when it has none. */
export async function webhookSecretOf(
  db: Db,
  secrets: Secrets,
  orgId: string,
): Promise<{ secret: string; now: number } | undefined> {
  const { rows } = await db.query<{ sealed: string | null; now: number }>(
    `select webhook_secret as sealed, extract(epoch from clock_timestamp())::float8 * 1000 as now
     from organizations where id = $1`,
    [orgId],
  );
  const [row] = rows;
  return row?.sealed ? { secret: secrets.unseal(row.sealed, webhookSeal(orgId)), now: row.now } : undefined;
}
