/** `GET …/report`: streams the report as a download, with its media type and file name. */
import { Router } from 'express';
import type { Hasher } from '../../passwords/hasher.ts';
import { sendText } from '../../streaming/send-text.ts';
import type { ImportDeps } from '../deps.ts';
import { queryOf } from '../query.ts';
import { type ReportFormat, reportText } from '../report/report.ts';
import { reportQuery } from './queries.ts';
import { visibleImport } from './visible.ts';

const MEDIA: Record<ReportFormat, { type: string; ending: string }> = {
  ndjson: { type: 'application/x-ndjson; charset=utf-8', ending: 'ndjson' },
  csv: { type: 'text/csv; charset=utf-8; header=present', ending: 'csv' },
  dataorgs: { type: 'application/json; charset=utf-8', ending: 'json' },
};

export function reportRoutes({ pool, secrets, hasher }: ImportDeps & { hasher: Hasher }): Router {
  const deps = { pool, secrets, hash: oneAtATime(hasher.hash) };
  return Router().get('/admin/v1/imports/:importId/report', async (req, res) => {
    const of = await visibleImport(pool, 'getImportReport', req, res);
    const { format, state } = queryOf(reportQuery, req);
    const { type, ending } = MEDIA[format];
    res.set('Content-Type', type);
    res.set('Content-Disposition', `attachment; filename="import-${of.importId}.${ending}"`);
    if (req.method === 'HEAD') res.end();
    else await sendText(res, reportText(deps, of, format, state));
  });
}

/** All reports of the process together use at most one thread of the hasher, as logins need these threads too. */
function oneAtATime(hash: Hasher['hash']): Hasher['hash'] {
  let last: Promise<unknown> = Promise.resolve();
  return (plain) => {
    const next = last.then(() => hash(plain));
    last = next.catch(() => {}); // the caller handles the error
    return next;
  };
}
