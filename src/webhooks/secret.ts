/**
 * An organization's webhook secret: at most one, sealed at rest, told once when it is made.
 * A new one takes the place of the old one at once, for messages that are still to be sent too. If we die before the
 * commit the old one stays.
 */
import { type AppendedEvent, appendEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import { newWebhookSecret } from './signature.ts';

/** What a sealed secret is bound to: the purpose and the organization. */
const sealOf = (orgId: string) => `webhook-secret:${orgId}`;

/** Gives the organization, which exists, a fresh secret; call it in a transaction. */
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
    secrets.seal(secret, sealOf(orgId)),
    event.sequence,
    event.createdAt,
  ]);
  return { secret, event };
}

/** The organization's secret; undefined when it has none. */
export async function webhookSecretOf(db: Db, secrets: Secrets, orgId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ sealed: string | null }>(
    'select webhook_secret as sealed from organizations where id = $1',
    [orgId],
  );
  const sealed = rows[0]?.sealed;
  return sealed ? secrets.unseal(sealed, sealOf(orgId)) : undefined;
}
