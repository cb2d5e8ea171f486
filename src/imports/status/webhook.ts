/**
 * The webhook of an import: the organization that signs it, and the message it sends when the import ends.
 *
 * Guarantee: the message is signed with the secret of an organization into which the caller may import, so no caller
 * can sign for another organization. If the import runs again before the message is composed, the message is dropped:
 * the next end of the import has its own.
 */
import type { Request } from 'express';
import { type Caller, requirePermission, selectedOrg } from '../../contract/permissions.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { type DueWebhook, isOutdated } from '../../messages/webhooks/outbox.ts';
import { webhookSecretOf } from '../../messages/webhooks/signature.ts';
import type { Config } from '../../platform/config.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { targetProblem } from '../../platform/http/outgoing.ts';
import { isEnded } from '../entries/states.ts';
import { readProgress } from './progress.ts';

/**
 * The URL with the organization that signs: the one that the request selects, else the caller's own.
 * @throws ApiError 403 without the permission; 400 for a URL that is not allowed or an organization without a webhook
 *   secret; 404, for an IAM_OWNER alone, when the organization does not exist
 */
export async function signedWebhook(
  deps: { pool: Pool; config: Pick<Config, 'WEBHOOK_ALLOW_PRIVATE'>; secrets: Secrets },
  req: Request,
  caller: Caller,
  url: string | undefined,
): Promise<{ url: string; orgId: string } | undefined> {
  if (url === undefined) return undefined;
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, 'importUsers', orgId);
  await requireOrg(deps.pool, orgId);
  const problem = targetProblem(url, deps.config.WEBHOOK_ALLOW_PRIVATE);
  if (problem) {
    throw invalidArgument('IMPORT-QUERY', `webhook ${problem}.`, [{ field: 'webhook', description: problem }]);
  }
  if ((await webhookSecretOf(deps.pool, deps.secrets, orgId)) === undefined) {
    throw new ApiError(
      'FAILED_PRECONDITION',
      'IMPORT-WEBHOOK-SECRET',
      'The organization has no webhook secret. Create one with PUT /management/v1/orgs/me/webhook_secret.',
    );
  }
  return { url, orgId };
}

/**
 * The message sent when the import ends: its progress. Undefined when the import is gone, runs again, or has ended
 * again: its last end has a message of its own.
 */
export async function composeEnd(pool: Pool, due: DueWebhook): Promise<string | undefined> {
  const progress = await readProgress(pool, due.importId);
  if (!progress || !isEnded(progress)) return undefined;
  // Asked after the progress was read, so that a later end cannot be in it unnoticed.
  if (await isOutdated(pool, due)) return undefined;
  return JSON.stringify({ type: 'import.ended', timestamp: due.createdAt.toISOString(), ...progress });
}
