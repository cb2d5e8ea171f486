/** The screens that change an organization as a whole, for an IAM_OWNER: deactivate and reactivate it. */
import { type Request, type Response, Router } from 'express';
import { type OperationId, requirePermission } from '../contract/permissions.ts';
import type { ScreenDeps } from './deps.ts';
import { orgOf, orgPath } from './organizations.ts';
import { sessionOf } from './session.ts';
import { formPage, list } from './shell/blocks.ts';
import { type Refusal, refusalOf } from './shell/errors.ts';
import { ORG_CHANGES } from './texts/organizations.ts';

interface Change {
  operation: OperationId;
  /** After `/management/v1/orgs/me`. */
  call: { method: 'POST' | 'DELETE'; path: string };
  /** What the page of the organization says afterwards: a key of `ORGS.done`. */
  done: string;
}

const CHANGES = {
  deactivate: { operation: 'deactivateOrg', call: { method: 'POST', path: '/_deactivate' }, done: 'deactivated' },
  reactivate: { operation: 'reactivateOrg', call: { method: 'POST', path: '/_reactivate' }, done: 'reactivated' },
} as const satisfies Record<string, Change>;
type ChangeName = keyof typeof CHANGES;

export function organizationStateScreens(deps: ScreenDeps): Router {
  const router = Router();
  for (const name of Object.keys(CHANGES) as ChangeName[]) {
    const path = `/console/organizations/:orgId/${name}`;
    router.get(path, (req, res) => showChange(deps, name, req, res));
    router.post(path, (req, res) => change(deps, name, req, res));
  }
  return router;
}

async function showChange(
  { consoleUrl, show }: ScreenDeps,
  name: ChangeName,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  requirePermission(sessionOf(res).caller, CHANGES[name].operation);
  const org = await orgOf(req, res);
  const { title, effects, button } = ORG_CHANGES.pages[name];
  const body = formPage({
    title: title(org.name),
    above: { href: consoleUrl(orgPath(org.id)), text: org.name },
    problem: refusal?.message,
    action: consoleUrl(`${orgPath(org.id)}/${name}`),
    content: list(effects),
    button,
    back: ORG_CHANGES.back,
  });
  show(req, res, { title: title(org.name), status: refusal?.status ?? 200, body });
}

async function change(deps: ScreenDeps, name: ChangeName, req: Request, res: Response): Promise<void> {
  const { operation, call, done } = CHANGES[name];
  requirePermission(sessionOf(res).caller, operation);
  const { id: orgId } = await orgOf(req, res);
  try {
    await sessionOf(res).api.send(`/management/v1/orgs/me${call.path}`, {}, { method: call.method, orgId });
    res.redirect(303, deps.consoleUrl(`${orgPath(orgId)}?done=${done}`));
  } catch (error) {
    await showChange(deps, name, req, res, refusalOf(error));
  }
}
