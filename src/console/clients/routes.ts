/** The screens of OAuth clients, for an IAM_OWNER. A secret is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import { requirePermission } from '../../access/caller.ts';
import { ApiError } from '../../errors.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { ONCE_SCRIPTS, onceBody } from '../page/once.ts';
import { type Refusal, refusalOf } from '../page/refusal.ts';
import { CLIENTS } from '../texts/clients.ts';
import { ONCE } from '../texts/frame.ts';
import { visitOf } from '../visit.ts';
import { type Client, createBody, KINDS, type Kind, listBody, removeBody } from './body.ts';

const FIELDS = ['name', 'kind', 'redirectUris', 'postLogoutRedirectUris'] as const;
const API = '/admin/v1/clients';

export function clientScreens(deps: ScreenDeps): Router {
  const { at, show } = deps;
  const router = Router();
  router.get('/console/clients', async (req, res) => {
    show(req, res, { title: CLIENTS.title, body: listBody(at, await readClients(res)) });
  });
  router.get('/console/clients/new', (req, res) => showNew(deps, req, res));
  router.post('/console/clients/new', (req, res) => create(deps, req, res));
  router.get('/console/clients/:clientId/remove', (req, res) => showRemoval(deps, req, res));
  router.post('/console/clients/:clientId/remove', (req, res) => remove(deps, req, res));
  return router;
}

async function readClients(res: Response): Promise<Client[]> {
  return (await visitOf(res).api.get<{ result: Client[] }>(API)).result;
}

function showNew({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): void {
  const { caller, kept } = visitOf(res);
  requirePermission(caller, 'addClient');
  const values = Object.fromEntries(FIELDS.map((name) => [name, text(req.body, name) || kept[name] || '']));
  show(req, res, { title: CLIENTS.create, status: refusal?.status ?? 200, body: createBody(at, values, refusal) });
}

async function create(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const kind = text(req.body, 'kind');
  const { grantTypes, authMethod } = KINDS[kind in KINDS ? (kind as Kind) : 'web'];
  const lines = (name: string) =>
    text(req.body, name)
      .split(/\s+/)
      .filter((line) => line !== '');
  try {
    const made = await visitOf(res).api.send<{ clientId: string; clientSecret?: string }>(API, {
      name: text(req.body, 'name').trim(),
      redirectUris: lines('redirectUris'),
      postLogoutRedirectUris: lines('postLogoutRedirectUris'),
      grantTypes,
      authMethod,
    });
    if (made.clientSecret === undefined) return res.redirect(303, deps.at('/clients'));
    const values: [string, string][] = [
      [CLIENTS.id, made.clientId],
      [CLIENTS.secret, made.clientSecret],
    ];
    const back = { href: deps.at('/clients'), text: CLIENTS.title };
    deps.show(req, res, { title: ONCE.title, body: onceBody(ONCE.title, values, back), scripts: ONCE_SCRIPTS });
  } catch (error) {
    showNew(deps, req, res, refusalOf(error, FIELDS));
  }
}

async function showRemoval({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const client = (await readClients(res)).find(({ clientId }) => clientId === req.params.clientId);
  if (!client) throw new ApiError('NOT_FOUND', 'CLIENT-NOT-FOUND', 'The client does not exist.');
  const body = removeBody(at, client, refusal);
  show(req, res, { title: CLIENTS.removeTitle(client.name), status: refusal?.status ?? 200, body });
}

async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  try {
    await visitOf(res).api.send(`${API}/${encodeURIComponent(String(req.params.clientId))}`, {}, { method: 'DELETE' });
  } catch (error) {
    return showRemoval(deps, req, res, refusalOf(error));
  }
  res.redirect(303, deps.at('/clients'));
}
