/**
 * The webhook of an import: who signs it, and what it says.
 *
 * Guarantee: signed with the secret of an organization for which the caller may import, so that nobody speaks in the name
 * of another one. The message is that of the import's end; when it runs again by then there is none, as its next end has
 * one of its own.
 */
import type { Request } from 'express';
import { type Caller, requirePermission, selectedOrg } from '../../access/caller.ts';
import type { Config } from '../../config.ts';
import type { Pool } from '../../db/pool.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { requireOrg } from '../../orgs/store.ts';
import type { Secrets } from '../../secrets.ts';
import type { DueWebhook } from '../../webhooks/outbox.ts';
import { webhookSecretOf } from '../../webhooks/secret.ts';
import { targetProblem } from '../../webhooks/target.ts';
import { isEnded, readProgress } from './progress.ts';

/**
 * The URL with the organization that signs: the one that the request selects, else the caller's own.
 * @throws ApiError 403; 400 for a URL that is refused, and without a secret; 404 to an IAM_OWNER without the organization
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
    throw invalidArgument('IMPORT-QUERY', `webhook ${problem}`, [{ field: 'webhook', description: problem }]);
  }
  if ((await webhookSecretOf(deps.pool, deps.secrets, orgId)) === undefined) {
    throw new ApiError(
      'FAILED_PRECONDITION',
      'IMPORT-WEBHOOK-SECRET',
      'The organization has no webhook secret yet: PUT /management/v1/orgs/me/webhook_secret makes one.',
    );
  }
  return { url, orgId };
}

/** The result without its lists, as the message of the import's end. */
export async function composeEnd(pool: Pool, { importId, createdAt }: DueWebhook): Promise<string | undefined> {
  const progress = await readProgress(pool, importId);
  if (!progress || !isEnded(progress)) return undefined;
  return JSON.stringify({ type: 'import.ended', timestamp: createdAt.toISOString(), ...progress });
}
