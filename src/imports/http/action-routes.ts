/** The actions on an import: cancel, pause, resume, retry, undo, send mails. Each answers with the new result. */
import { type Request, type Response, Router } from 'express';
import { type Caller, callerOf } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import type { Pool } from '../../db/pool.ts';
import { invalidArgument } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { NewTimeout } from '../control/action.ts';
import { cancelImport, pauseImport, resumeImport } from '../control/cancel-pause-resume.ts';
import { releaseMails } from '../control/release-mails.ts';
import { retryImport } from '../control/retry.ts';
import { undoImport } from '../control/undo.ts';
import type { ImportDeps } from '../deps.ts';
import { queryOf } from '../query.ts';
import { noBody, noQuery, resumeBody } from './queries.ts';
import { currentResult, visibleImport } from './visible.ts';

type Action = (pool: Pool, caller: Caller, importId: string) => Promise<void>;
type TimedAction = (pool: Pool, caller: Caller, importId: string, timeout: NewTimeout) => Promise<void>;

export function actionRoutes({ pool, config }: ImportDeps): Router {
  const router = Router();
  const max = config.MAX_IMPORT_TIMEOUT;

  function plain(name: string, operation: OperationId, action: Action): void {
    router.post(`/admin/v1/imports/:importId/${name}`, async (req, res) => {
      const { importId } = await visibleImport(pool, operation, req, res);
      queryOf(noQuery, req);
      // Somebody who asks for a dry run of an undo must not get the undo.
      parseBody(noBody, await readJson(req, res), 'IMPORT-ACTION');
      await action(pool, callerOf(res), importId);
      res.json(await currentResult(pool, importId));
    });
  }

  function timed(name: string, operation: OperationId, action: TimedAction): void {
    router.post(`/admin/v1/imports/:importId/${name}`, async (req, res) => {
      const { importId } = await visibleImport(pool, operation, req, res);
      queryOf(noQuery, req);
      await action(pool, callerOf(res), importId, { timeout: await readTimeout(req, res), max });
      res.json(await currentResult(pool, importId));
    });
  }

  plain('_cancel', 'cancelImport', cancelImport);
  plain('_pause', 'pauseImport', pauseImport);
  timed('_resume', 'resumeImport', resumeImport);
  timed('_retry', 'retryImport', retryImport);
  plain('_undo', 'undoImport', undoImport);
  plain('_send_mails', 'sendImportMails', releaseMails);
  return router;
}

async function readTimeout(req: Request, res: Response): Promise<string | undefined> {
  const parsed = resumeBody.safeParse(await readJson(req, res));
  if (parsed.success) return parsed.data.timeout;
  const violations = parsed.error.issues.map((i) => ({ field: i.path.join('.'), description: i.message }));
  throw invalidArgument(
    'IMPORT-TIMEOUT',
    'The body must be an object whose only field is "timeout", a string.',
    violations,
  );
}
