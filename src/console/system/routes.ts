/** The screen of the service's state: what `muster doctor` and `muster workers` report, for an IAM_OWNER. */
import { Router } from 'express';
import { requirePermission } from '../../access/caller.ts';
import type { Diagnostics, WorkerView } from '../../diagnostics/routes.ts';
import { judge } from '../../findings/judge.ts';
import type { ScreenDeps } from '../deps.ts';
import { SYSTEM } from '../texts/system.ts';
import { visitOf } from '../visit.ts';
import { systemBody } from './body.ts';
import { webhookFacts } from './webhooks.ts';

export function systemScreens({ at, pool, show }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/system', async (req, res) => {
    const { api, caller } = visitOf(res);
    requirePermission(caller, 'getDiagnostics');
    const [diagnostics, workers, webhooks] = await Promise.all([
      api.get<Diagnostics>('/admin/v1/diagnostics'),
      api.get<{ result: WorkerView[] }>('/admin/v1/workers'),
      webhookFacts(pool),
    ]);
    const page = { diagnostics, findings: judge(diagnostics), workers: workers.result, webhooks, readAt: new Date() };
    show(req, res, { title: SYSTEM.title, body: systemBody(at, page) });
  });
  return router;
}
