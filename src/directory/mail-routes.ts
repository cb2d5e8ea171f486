/**
 * Routes that show the mails of an organization, and send the caller a sample.
 *
 * Guarantee: a sample goes to the verified address of the caller alone, at most SAMPLES_AN_HOUR times an hour.
 */
import { Router } from 'express';
import type { PreviewKind } from '../contract/link-templates.ts';
import { mailOperations } from '../contract/mails.ts';
import { requirePermission } from '../contract/permissions.ts';
import { serve } from '../contract/serve.ts';
import { enqueueSample } from '../messages/mail/outbox.ts';
import { MADE_UP_NAME, previewMail, validForMs } from '../messages/mail/preview.ts';
import type { Config } from '../platform/config.ts';
import { countWithin } from '../platform/db/counts.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { mailLookFor } from './branding.ts';
import { existingOrg } from './finders.ts';
import { isActiveOrg, orgInactive } from './organizations.ts';

const SAMPLES_AN_HOUR = 20;
const HOUR = 3600_000;

export function mailRoutes({
  pool,
  config,
}: {
  pool: Pool;
  config: Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'RESET_CODE_TTL_MS'>;
}): Router {
  const router = Router();
  const org = existingOrg(pool);
  serve(router, mailOperations.previewMail, org, async ({ caller, target, body: { kind, language, branding } }) => {
    if (branding) requirePermission(caller, 'updateBranding', target.id);
    const look = await mailLookFor(pool, target.id, config.baseUrl, branding);
    return previewMail(config, {
      kind,
      org: target,
      languages: { chosen: language, ...look.languages },
      look,
      expiresAt: new Date(Date.now() + validForMs(kind, config)),
      displayName: MADE_UP_NAME,
    });
  });
  serve(router, mailOperations.sendSampleMail, org, async ({ caller, target, body: { kind, language } }) => {
    if (!isActiveOrg(target)) throw orgInactive(target.id);
    return {
      address: await sendSample(pool, { kind, userId: caller.userId, orgId: target.id, language: language ?? '' }),
    };
  });
  return router;
}

/** @throws ApiError 400 without a verified address; 429 */
async function sendSample(
  pool: Pool,
  sample: { kind: PreviewKind; userId: string; orgId: string; language: string },
): Promise<string> {
  return transaction(pool, async (db) => {
    const address = await enqueueSample(db, sample);
    if (address === undefined) {
      throw new ApiError('FAILED_PRECONDITION', 'MAIL-NO-ADDRESS', 'You have no verified email address.');
    }
    const message = `You have sent ${SAMPLES_AN_HOUR} samples within an hour. Try again later.`;
    await countWithin(db, `mail samples of ${sample.userId}`, { limit: SAMPLES_AN_HOUR, windowMs: HOUR, message });
    return address;
  });
}
