/**
 * Routes for the branding of an organization and of the instance, and for their pictures, which everybody may load who
 * knows their hash: it is on the pages that have it.
 *
 * Guarantee: a picture is answered from our own origin with the type that its content has, and as nothing else:
 * browsers neither guess another type nor run anything of it.
 */
import { type Request, type Response, Router } from 'express';
import { brandingOperations } from '../contract/branding.ts';
import { logoUrl } from '../contract/logo.ts';
import { instance, serve } from '../contract/serve.ts';
import { LOGO_PATH } from '../messages/mail/branding.ts';
import { details, newDetails } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { isShifted, palettes } from '../platform/html/palette.ts';
import { findLogo, resetBranding, storedBranding, updateBranding } from './branding.ts';
import { changeableOrg, existingOrg } from './finders.ts';
import { type PolicyOwner, type PolicyRow, policyOwnerId } from './policies.ts';

interface Deps {
  pool: Pool;
  config: { baseUrl: string };
}

/** The operations. */
export function brandingRoutes(deps: Deps): Router {
  const { pool } = deps;
  const router = Router();
  const org = existingOrg(pool);
  const changeable = changeableOrg(pool);
  const operations = brandingOperations;
  serve(router, operations.getBranding, org, ({ target }) => view(deps, target.id));
  serve(router, operations.getDefaultBranding, org, () => view(deps, null));
  serve(router, operations.getInstanceBranding, instance, () => view(deps, null));
  serve(router, operations.updateBranding, changeable, async ({ caller, target: { id }, body }) => ({
    details: detailsOf(await transaction(pool, (db) => updateBranding(db, id, body, caller.userId))),
  }));
  serve(router, operations.updateDefaultBranding, instance, async ({ caller, body }) => ({
    details: detailsOf(await transaction(pool, (db) => updateBranding(db, null, body, caller.userId))),
  }));
  serve(router, operations.resetBranding, changeable, async ({ caller, target: { id } }) => ({
    details: newDetails(await transaction(pool, (db) => resetBranding(db, id, caller.userId)), id),
  }));
  return router;
}

/** Serves the pictures; mount it at `/`. */
export function logoRoutes({ pool }: Pick<Deps, 'pool'>): Router {
  const router = Router();
  router.get(`${LOGO_PATH}/:hash`, (req, res) => sendLogo(pool, req, res));
  return router;
}

const FOREVER = 'public, max-age=31536000, immutable';

async function sendLogo(pool: Pool, req: Request, res: Response): Promise<void> {
  const hash = String(req.params.hash);
  const logo = /^[0-9a-f]{64}$/.test(hash) ? await findLogo(pool, hash) : undefined;
  if (!logo) throw new ApiError('NOT_FOUND', 'PAGE-ASSET', 'This file does not exist.');
  res
    .set({
      'Cache-Control': FOREVER,
      'Content-Type': logo.type,
      'Content-Disposition': 'inline',
      'Content-Security-Policy': "default-src 'none'; sandbox",
      // Mail programs show it too.
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'X-Content-Type-Options': 'nosniff',
    })
    .end(logo.bytes);
}

async function view({ pool, config }: Deps, owner: PolicyOwner) {
  const { branding, logo, own, row } = await storedBranding(pool, owner);
  const { logoHash, logoWidth: _, logoHeight: __, links = {}, texts = {}, ...fields } = branding;
  const colors = palettes(fields);
  return {
    policy: {
      details: detailsOf(row),
      ...fields,
      links,
      texts,
      ...(logo && logoHash ? { logo: logoUrl(logo), logoUrl: `${config.baseUrl}${LOGO_PATH}/${logoHash}` } : {}),
      colors,
      isShifted: isShifted(fields, colors),
      own,
      isDefault: row.orgId === null,
    },
  };
}

function detailsOf({ sequence, createdAt, changedAt, orgId }: PolicyRow) {
  return details({ sequence, createdAt, changedAt, resourceOwner: policyOwnerId(orgId) });
}
