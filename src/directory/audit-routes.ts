/**
 * Routes that search and export audit events: an IAM_OWNER all of them, an ORG_OWNER those of their organizations.
 *
 * Guarantee: a caller and an organization have few of them under way, so that large tables cost the others nothing.
 */
import { Router } from 'express';
import { eventOperations as operations } from '../contract/events.ts';
import { requirePermission } from '../contract/permissions.ts';
import { type Asked, ownOrgs, serve } from '../contract/serve.ts';
import type { Pool } from '../platform/db/pool.ts';
import { sendText } from '../platform/http/answers.ts';
import { openSlots } from '../platform/http/slots.ts';
import { type AuditRow, auditView, exportText, positionOf, readEvents, tokenAfter } from './audit.ts';

const MEDIA = { ndjson: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' };
const LIMIT = {
  perCaller: 4,
  perOrg: 8,
  total: 16,
  id: 'EVENTS-SLOTS',
  what: 'searches and exports of events',
} as const;

/** Routes of audit events. */
export function auditRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const slots = openSlots(LIMIT);
  serve(
    router,
    operations.searchEvents,
    ownOrgs,
    async ({ target: orgIds, body: { pageSize, pageToken, ...filter }, ...asked }) => {
      requireNamed(asked, filter.orgId);
      const rows = await readEvents(pool, filter, { orgIds, limit: pageSize + 1, after: positionOf(pageToken) });
      const page = rows.slice(0, pageSize);
      const nextPageToken = rows.length > pageSize ? tokenAfter(page.at(-1) as AuditRow) : '';
      return { result: page.map(auditView), nextPageToken };
    },
    slots,
  );
  serve(
    router,
    operations.exportEvents,
    ownOrgs,
    async ({ target: orgIds, body: filter, res, ...asked }) => {
      requireNamed(asked, filter.orgId);
      res.set('Content-Type', MEDIA[filter.format]);
      res.set('Content-Disposition', `attachment; filename="events.${filter.format}"`);
      await sendText(res, exportText(pool, filter, orgIds));
    },
    slots,
  );
  return router;
}

/** @throws ApiError 403, also for another organization by name */
function requireNamed({ caller, operation }: Pick<Asked, 'caller' | 'operation'>, orgId: string | undefined): void {
  if (orgId !== undefined) requirePermission(caller, operation, orgId);
}
