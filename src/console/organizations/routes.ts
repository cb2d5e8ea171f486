/** The screens of organizations: list, one with its members, a new one, a new machine user. */
import { type Request, type Response, Router } from 'express';
import { may, requirePermission } from '../../access/caller.ts';
import { ApiError } from '../../errors.ts';
import { html } from '../../html.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { notice, parameter } from '../page/blocks.ts';
import { type Refusal, refusalOf } from '../page/refusal.ts';
import { saidOnce } from '../page/said.ts';
import { MEMBERS, ORGS } from '../texts/organizations.ts';
import { userNames } from '../users/names.ts';
import { type Page, userPath } from '../users/shapes.ts';
import { visitOf } from '../visit.ts';
import { createBody, listBody, type OrgView, orgPath, PAGE } from './list.ts';
import { type Member, machineBody, oneBody, removeBody } from './one.ts';

const ONE = '/console/organizations/:orgId';
const MOST_MEMBERS = 200;

export function organizationScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get('/console/organizations', (req, res) => list(deps, req, res));
  router.get('/console/organizations/new', (req, res) => showNew(deps, req, res));
  router.post('/console/organizations/new', (req, res) => create(deps, req, res));
  router.get(ONE, (req, res) => one(deps, req, res));
  router.post(ONE, (req, res) => addMember(deps, req, res));
  router.get(`${ONE}/members/:userId/remove`, (req, res) => showRemoval(deps, req, res));
  router.post(`${ONE}/members/:userId/remove`, (req, res) => removeMember(deps, req, res));
  router.get(`${ONE}/machines/new`, (req, res) => showMachine(deps, req, res));
  router.post(`${ONE}/machines/new`, (req, res) => addMachine(deps, req, res));
  return router;
}

async function list({ at, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { caller } = visitOf(res);
  const maySearch = may(caller, 'searchOrgs');
  const query = parameter(req, 'q');
  const offset = Math.max(0, Number.parseInt(parameter(req, 'from'), 10) || 0);
  const found = maySearch ? await findOrgs(res, query, offset) : await ownOrgs(res);
  const page = {
    ...found,
    offset: maySearch ? offset : 0,
    text: query,
    maySearch,
    mayCreate: may(caller, 'createOrg'),
  };
  show(req, res, { title: ORGS.title, body: listBody(at, page) });
}

/** All of them; with a text, those that have it as id, domain or name: the first of these that finds one. */
async function findOrgs(res: Response, query: string, offset: number): Promise<{ orgs: OrgView[]; total: number }> {
  const tries = query
    ? [{ idQuery: { id: query } }, { domainQuery: { domain: query } }, { nameQuery: { name: query } }].map((q) => [q])
    : [[]];
  for (const queries of tries) {
    const { details, result } = await visitOf(res).api.send<Page<OrgView>>('/admin/v1/orgs/_search', {
      query: { limit: PAGE, offset },
      queries,
    });
    if (result.length > 0) return { orgs: result, total: Number(details.totalResult) };
  }
  return { orgs: [], total: 0 };
}

/** Those on which the person may see the members. */
async function ownOrgs(res: Response): Promise<{ orgs: OrgView[]; total: number }> {
  const { api, caller } = visitOf(res);
  const me = await api.get<{ organizations: OrgView[] }>('/management/v1/me');
  const orgs = me.organizations.filter(({ id }) => may(caller, 'searchOrgMembers', id));
  return { orgs, total: orgs.length };
}

function showNew({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): void {
  requirePermission(visitOf(res).caller, 'createOrg');
  const values = valuesOf(req, res, ['name', 'domain']);
  show(req, res, { title: ORGS.create, status: refusal?.status ?? 200, body: createBody(at, values, refusal) });
}

async function create(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { name, domain } = valuesOf(req, res, ['name', 'domain']);
  try {
    const body = { name, ...(domain ? { domain } : {}) };
    const { id } = await visitOf(res).api.send<{ id: string }>('/management/v1/orgs', body);
    res.redirect(303, deps.at(`${orgPath(id)}?done=created`));
  } catch (error) {
    showNew(deps, req, res, refusalOf(error, ['name', 'domain']));
  }
}

/** @throws ApiError 403 unless the person may manage the organization */
async function orgOf(req: Request, res: Response): Promise<OrgView> {
  const { api, caller } = visitOf(res);
  const orgId = String(req.params.orgId);
  requirePermission(caller, 'searchOrgMembers', orgId);
  return (await api.get<{ org: OrgView }>('/management/v1/orgs/me', { orgId })).org;
}

async function one({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { api } = visitOf(res);
  const org = await orgOf(req, res);
  const found = await api.send<Page<Member>>(
    '/management/v1/orgs/me/members/_search',
    { query: { limit: MOST_MEMBERS } },
    { orgId: org.id },
  );
  const names = await userNames(
    api,
    found.result.map(({ userId }) => userId),
  );
  const values = valuesOf(req, res, ['userId', 'role']);
  const total = Number(found.details.totalResult);
  const body = oneBody(at, { org, members: found.result, total, nameOf: names, values, refusal });
  const done = ORGS.done[saidOnce(res) as keyof typeof ORGS.done];
  show(req, res, { title: org.name, status: refusal?.status ?? 200, body: html`${notice(done)}${body}` });
}

async function addMember(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api } = visitOf(res);
  const org = await orgOf(req, res);
  const { userId, role } = valuesOf(req, res, ['userId', 'role']);
  try {
    await api.send('/management/v1/orgs/me/members', { userId, roles: [role] }, { orgId: org.id });
    res.redirect(303, deps.at(`${orgPath(org.id)}?done=added`));
  } catch (error) {
    await one(deps, req, res, unknownUser(error) ?? refusalOf(error, ['userId']));
  }
}

/** The API answers 403 for a user whom the person may not see, whether or not they exist. */
function unknownUser(error: unknown): Refusal | undefined {
  if (!(error instanceof ApiError) || error.http !== 403) return undefined;
  const wrong = (field: string) => (field === 'userId' ? MEMBERS.unknown : undefined);
  return { status: 403, message: undefined, wrong };
}

async function showRemoval({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const org = await orgOf(req, res);
  const userId = String(req.params.userId);
  const name = (await userNames(visitOf(res).api, [userId]))(userId);
  const isSelf = visitOf(res).caller.userId === userId;
  const body = removeBody(at, { org, userId, name, isSelf }, refusal);
  show(req, res, { title: MEMBERS.removeTitle(name), status: refusal?.status ?? 200, body });
}

async function removeMember(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const org = await orgOf(req, res);
  const path = `/management/v1/orgs/me/members/${encodeURIComponent(String(req.params.userId))}`;
  try {
    await visitOf(res).api.send(path, {}, { method: 'DELETE', orgId: org.id });
    res.redirect(303, deps.at(`${orgPath(org.id)}?done=removed`));
  } catch (error) {
    await showRemoval(deps, req, res, refusalOf(error));
  }
}

const MACHINE = ['userName', 'name', 'description'] as const;

async function showMachine({ at, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const org = await orgOf(req, res);
  const body = machineBody(at, org, valuesOf(req, res, MACHINE), refusal);
  show(req, res, { title: ORGS.newMachine, status: refusal?.status ?? 200, body });
}

async function addMachine(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const org = await orgOf(req, res);
  const path = '/management/v1/users/machine';
  try {
    const body = valuesOf(req, res, MACHINE);
    const { userId } = await visitOf(res).api.send<{ userId: string }>(path, body, { orgId: org.id });
    res.redirect(303, deps.at(userPath(userId)));
  } catch (error) {
    await showMachine(deps, req, res, refusalOf(error, MACHINE));
  }
}

/** What was sent, or what the person typed before their session ended. */
function valuesOf<N extends string>(req: Request, res: Response, names: readonly N[]): Record<N, string> {
  const { kept } = visitOf(res);
  const values = names.map((name) => [name, text(req.body, name).trim() || kept[name] || '']);
  return Object.fromEntries(values) as Record<N, string>;
}
