/**
 * Routes that search and export audit events: an IAM_OWNER all of them, an ORG_OWNER those of their organizations.
 *
 * Guarantee: a caller and an organization have few of them under way, so that large tables cost the others nothing.
 */
import { type Request, type Response, Router } from 'express';
import { auditExport, auditSearch } from '../contract/events.ts';
import { type Caller, callerOf, type OperationId, orgsFor, requirePermission } from '../contract/permissions.ts';
import type { Pool } from '../platform/db/pool.ts';
import { sendText } from '../platform/http/answers.ts';
import { parseBody, readJson } from '../platform/http/request-body.ts';
import { openSlots } from '../platform/http/slots.ts';
import { type AuditRow, auditView, exportText, positionOf, readEvents, tokenAfter } from './audit.ts';

const MEDIA = { ndjson: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' };
const LIMIT = { perCaller: 4, perOrg: 8, total: 16, id: 'EVENTS-SLOTS', what: 'searches and exports of events' };

/** Routes of audit events. */
export function auditRoutes({ pool }: { pool: Pool }): Router {
  const slots = openSlots(LIMIT);
  const inSlot = (work: typeof search) => async (req: Request, res: Response) => {
    const release = slots.take(callerOf(res));
    await work(pool, req, res).finally(release);
  };
  return Router()
    .post('/admin/v1/events/_search', inSlot(search))
    .post('/admin/v1/events/_export', inSlot(exportEvents));
}

async function search(pool: Pool, req: Request, res: Response): Promise<void> {
  orgsFor(callerOf(res), 'searchEvents');
  const { pageSize, pageToken, ...filter } = parseBody(auditSearch, await readJson(req, res), 'EVENTS-SEARCH');
  const orgIds = readable(callerOf(res), 'searchEvents', filter.orgId);
  const rows = await readEvents(pool, filter, { orgIds, limit: pageSize + 1, after: positionOf(pageToken) });
  const page = rows.slice(0, pageSize);
  const nextPageToken = rows.length > pageSize ? tokenAfter(page.at(-1) as AuditRow) : '';
  res.json({ result: page.map(auditView), nextPageToken });
}

async function exportEvents(pool: Pool, req: Request, res: Response): Promise<void> {
  orgsFor(callerOf(res), 'exportEvents');
  const filter = parseBody(auditExport, await readJson(req, res), 'EVENTS-EXPORT');
  const orgIds = readable(callerOf(res), 'exportEvents', filter.orgId);
  res.set('Content-Type', MEDIA[filter.format]);
  res.set('Content-Disposition', `attachment; filename="events.${filter.format}"`);
  await sendText(res, exportText(pool, filter, orgIds));
}

/** The organizations whose events the caller may read. @throws ApiError 403, also for another organization by name */
function readable(caller: Caller, operation: OperationId, orgId: string | undefined): string[] | undefined {
  if (orgId !== undefined) requirePermission(caller, operation, orgId);
  return orgsFor(caller, operation);
}
