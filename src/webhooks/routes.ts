/** Route for the secret that signs an organization's webhooks. */
import { Router } from 'express';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import { details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { requireOrg } from '../orgs/store.ts';
import type { Secrets } from '../secrets.ts';
import { setWebhookSecret } from './secret.ts';

export function webhookRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  return Router().put('/management/v1/orgs/me/webhook_secret', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'setWebhookSecret', orgId);
    const { secret, event } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setWebhookSecret(db, secrets, orgId, caller.userId);
    });
    const { sequence, createdAt: changedAt } = event;
    res.json({ secret, details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
}
