/**
 * Webhook signatures as specified by "Standard Webhooks" 1.0.0: HMAC-SHA256 over id, time and body, so that a receiver
 * can verify who sent the message and when, and that it was not changed.
 *
 * The secret of an organization is encrypted at rest and shown once, when it is created. A new one replaces the old one
 * at once, also for messages that are still to be sent.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { Organizations } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';

const PREFIX = 'whsec_';
/** The specification requires 24 to 64. */
const SECRET_BYTES = 32;

/** A new secret: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

export interface SignedMessage {
  id: string;
  /** Time of this attempt, in milliseconds since 1970. */
  at: number;
  body: string;
}

/** The three headers of a message. @param secret in the form of `newWebhookSecret` */
export function signatureHeaders(secret: string, { id, at, body }: SignedMessage): Record<string, string> {
  const timestamp = Math.floor(at / 1000);
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
}

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
  const { rows } = await db.query<Named<Organizations, { sealed: 'webhook_secret' }> & { now: number }>(
    `select webhook_secret as sealed, extract(epoch from clock_timestamp())::float8 * 1000 as now
     from organizations where id = $1`,
    [orgId],
  );
  const [row] = rows;
  return row?.sealed ? { secret: secrets.unseal(row.sealed, webhookSeal(orgId)), now: row.now } : undefined;
}
