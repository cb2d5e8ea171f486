/**
 * Webhook signatures as specified by "Standard Webhooks" 1.0.0: HMAC-SHA256 over id, time and body, so that a receiver
 * can verify who sent the message and when, and that it was not changed.
 */
import { createHmac, randomBytes } from 'node:crypto';

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
