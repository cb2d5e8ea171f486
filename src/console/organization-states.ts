/**
 * The screens that change an organization as a whole: for an IAM_OWNER deactivate, delete, take that back, set its limits;
 * for its owners how users sign in, which an IAM_OWNER sets for the service too.
 */
import { type Request, type Response, Router } from 'express';
import { ORG_LIMITS } from '../contract/organization-limits.ts';
import { requirePermission } from '../contract/permissions.ts';
import { field, text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { ScreenDeps } from './deps.ts';
import { limitFields, limitsPath, sendLimits } from './organization-limits.ts';
import { chosenPolicy, loginFields, loginPath, loginReset, sendLogin } from './organization-login.ts';
import { type OrgView, orgOf, orgPath } from './organizations.ts';
import { sessionOf } from './session.ts';
import { count, facts, formPage, list, notice } from './shell/blocks.ts';
import { type Refusal, refusalOf, saidOnce } from './shell/errors.ts';
import { LOGIN_POLICY, ORG_CHANGES, ORG_LIMIT_TEXTS } from './texts/organizations.ts';
import { SYSTEM } from './texts/system.ts';

/** The operation, and what the page of the organization says afterwards: a key of `ORGS.done`. */
const CHANGES = {
  deactivate: { operation: 'deactivateOrg', done: 'deactivated' },
  reactivate: { operation: 'reactivateOrg', done: 'reactivated' },
  delete: { operation: 'deleteOrg', done: 'deleted' },
  undelete: { operation: 'undeleteOrg', done: 'restored' },
} as const;
type ChangeName = keyof typeof CHANGES;
const LIMITS = '/console/organizations/:orgId/limits';
const LOGIN = '/console/organizations/:orgId/login';
const LOGIN_OF_SERVICE = '/console/system/login';

export function organizationStateScreens(deps: ScreenDeps): Router {
  const router = Router();
  for (const name of Object.keys(CHANGES) as ChangeName[]) {
    const path = `/console/organizations/:orgId/${name}`;
    router.get(path, (req, res) => showChange(deps, name, req, res));
    router.post(path, (req, res) => change(deps, name, req, res));
  }
  router.get(LIMITS, (req, res) => showLimits(deps, req, res));
  router.post(LIMITS, (req, res) => limit(deps, req, res));
  router.get(LOGIN, (req, res) => showLogin(deps, req, res));
  router.post(LOGIN, (req, res) => changeLogin(deps, req, res));
  router.get(LOGIN_OF_SERVICE, (req, res) => showServiceLogin(deps, req, res));
  router.post(LOGIN_OF_SERVICE, (req, res) => changeServiceLogin(deps, req, res));
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
    content: html`${list(effects)}${name === 'delete' ? await removalOf(res, org, refusal) : undefined}`,
    button,
    back: ORG_CHANGES.back,
    isHarmless: name === 'reactivate' || name === 'undelete',
  });
  show(req, res, { title: title(org.name), status: refusal?.status ?? 200, body });
}

/** What goes, and a field that makes sure that the person means this organization. */
async function removalOf(res: Response, { id }: OrgView, refusal: Refusal | undefined): Promise<Html> {
  const preview: Readonly<Record<string, number>> = await sessionOf(res).api.call('previewOrgRemoval', { org: id });
  const counted = Object.entries(ORG_CHANGES.counts).map(([key, name]): [string, string] => [
    name,
    count(preview[key] ?? 0),
  ]);
  const typed = { name: 'orgId', label: ORG_CHANGES.typeId(id), value: '', wrong: refusal?.wrong('orgId') };
  return html`${facts(counted)}${field(typed)}`;
}

async function change(deps: ScreenDeps, name: ChangeName, req: Request, res: Response): Promise<void> {
  const { operation, done } = CHANGES[name];
  requirePermission(sessionOf(res).caller, operation);
  const { id: orgId } = await orgOf(req, res);
  if (name === 'delete' && text(req.body, 'orgId').trim() !== orgId) {
    const wrong = (field: string) => (field === 'orgId' ? ORG_CHANGES.wrongId : undefined);
    return showChange(deps, name, req, res, { status: 400, message: undefined, wrong });
  }
  try {
    await sessionOf(res).api.call(operation, { org: orgId });
    res.redirect(303, deps.consoleUrl(`${orgPath(orgId)}?done=${done}`));
  } catch (error) {
    await showChange(deps, name, req, res, refusalOf(error));
  }
}

async function showLimits(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  requirePermission(sessionOf(res).caller, 'setOrgLimits');
  const { id, name } = await orgOf(req, res);
  const title = ORG_LIMIT_TEXTS.changeOf(name);
  const body = formPage({
    title,
    above: { href: consoleUrl(orgPath(id)), text: name },
    problem: refusal?.message,
    action: consoleUrl(limitsPath(id)),
    content: await limitFields(req, res, id, refusal),
    button: ORG_LIMIT_TEXTS.set,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

async function limit(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  requirePermission(sessionOf(res).caller, 'setOrgLimits');
  const { id } = await orgOf(req, res);
  try {
    await sendLimits(req, res, id);
    res.redirect(303, deps.consoleUrl(`${orgPath(id)}?done=limited`));
  } catch (error) {
    await showLimits(deps, req, res, refusalOf(error, ORG_LIMITS));
  }
}

async function showLogin(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const { id, name } = await orgOf(req, res);
  requirePermission(sessionOf(res).caller, 'updateLoginPolicy', id);
  const title = LOGIN_POLICY.changeOf(name);
  const action = consoleUrl(loginPath(id));
  const { policy } = await sessionOf(res).api.call('getLoginPolicy', { org: id });
  const body = formPage({
    title,
    above: { href: consoleUrl(orgPath(id)), text: name },
    problem: refusal?.message,
    action,
    content: loginFields(req, res, policy),
    button: LOGIN_POLICY.set,
  });
  const reset = policy.isDefault ? undefined : loginReset(action);
  show(req, res, { title, status: refusal?.status ?? 200, body: html`${body}${reset}` });
}

async function changeLogin(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { id } = await orgOf(req, res);
  requirePermission(sessionOf(res).caller, 'updateLoginPolicy', id);
  try {
    const done = await sendLogin(req, res, id);
    res.redirect(303, deps.consoleUrl(`${orgPath(id)}?done=${done}`));
  } catch (error) {
    await showLogin(deps, req, res, refusalOf(error));
  }
}

/** The policy of organizations that have none of their own. */
async function showServiceLogin(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  requirePermission(sessionOf(res).caller, 'updateDefaultLoginPolicy');
  const { policy } = await sessionOf(res).api.call('getInstanceLoginPolicy');
  const body = formPage({
    title: LOGIN_POLICY.title,
    above: { href: consoleUrl('/system'), text: SYSTEM.title },
    problem: refusal?.message,
    action: consoleUrl('/system/login'),
    content: html`<p>${LOGIN_POLICY.ofOthers}</p>${loginFields(req, res, policy)}`,
    button: LOGIN_POLICY.set,
  });
  const done = saidOnce(res) === 'login' ? notice(LOGIN_POLICY.done) : undefined;
  show(req, res, { title: LOGIN_POLICY.title, status: refusal?.status ?? 200, body: html`${done}${body}` });
}

async function changeServiceLogin(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  requirePermission(sessionOf(res).caller, 'updateDefaultLoginPolicy');
  try {
    await sessionOf(res).api.call('updateDefaultLoginPolicy', { body: chosenPolicy(req) });
    res.redirect(303, deps.consoleUrl('/system/login?done=login'));
  } catch (error) {
    await showServiceLogin(deps, req, res, refusalOf(error));
  }
}
