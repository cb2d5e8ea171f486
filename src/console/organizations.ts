/** The screens of organizations: the list, one with its members, a new one, a new machine user. */

import { type Request, type Response, Router } from 'express';
import type { Answer } from '../contract/client.ts';
import { orgMember } from '../contract/members.ts';
import { may, requirePermission } from '../contract/permissions.ts';
import { ORG_ROLES } from '../contract/roles.ts';
import { ApiError } from '../platform/errors.ts';
import { field, text } from '../platform/html/forms.ts';
import { parseBody } from '../platform/http/parse.ts';
import { type Html, html } from '../platform/text/html.ts';
import { ownValue } from '../platform/text/names.ts';
import type { ScreenDeps } from './deps.ts';
import { limitsCard, limitsPath, readLimits } from './organization-limits.ts';
import { type LoginPolicyView, loginCard, loginPath, readLogin } from './organization-login.ts';
import { sessionOf } from './session.ts';
import { userPath } from './shapes.ts';
import {
  type Choice,
  count,
  empty,
  facts,
  formPage,
  headline,
  list,
  notice,
  pages,
  parameter,
  queryOf,
  selectField,
  state,
  table,
  time,
} from './shell/blocks.ts';
import { type Refusal, refusalOf, saidOnce } from './shell/errors.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { BRANDING } from './texts/branding.ts';
import { MEMBERS, ORG_CHANGES, ORGS } from './texts/organizations.ts';
import { PROVIDERS } from './texts/providers.ts';
import { userNames } from './users/list.ts';

const ONE = '/console/organizations/:orgId';
const PAGE = 50;
const MOST_MEMBERS = 200;

export function organizationScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get('/console/organizations', (req, res) => showAll(deps, req, res));
  router.get('/console/organizations/new', (req, res) => showNew(deps, req, res));
  router.post('/console/organizations/new', (req, res) => create(deps, req, res));
  router.get(ONE, (req, res) => showOne(deps, req, res));
  router.post(ONE, (req, res) => addMember(deps, req, res));
  router.get(`${ONE}/members/:userId/remove`, (req, res) => showRemoval(deps, req, res));
  router.post(`${ONE}/members/:userId/remove`, (req, res) => removeMember(deps, req, res));
  router.get(`${ONE}/machines/new`, (req, res) => showMachine(deps, req, res));
  router.post(`${ONE}/machines/new`, (req, res) => addMachine(deps, req, res));
  return router;
}

async function showAll({ consoleUrl, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { caller } = sessionOf(res);
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
  show(req, res, { title: ORGS.title, body: listBody(consoleUrl, page) });
}

/** All organizations; with a text, those whose id, domain or name it is: the first of these that finds one. */
async function findOrgs(res: Response, query: string, offset: number): Promise<{ orgs: Listed[]; total: number }> {
  const tries = query
    ? [{ idQuery: { id: query } }, { domainQuery: { domain: query } }, { nameQuery: { name: query } }].map((q) => [q])
    : [[]];
  for (const queries of tries) {
    const body = { query: { limit: PAGE, offset }, queries };
    const { details, result } = await sessionOf(res).api.call('searchOrgs', { body });
    if (result.length > 0) return { orgs: result, total: Number(details.totalResult) };
  }
  return { orgs: [], total: 0 };
}

/** The organizations whose members the person may see. */
async function ownOrgs(res: Response): Promise<{ orgs: Listed[]; total: number }> {
  const { api, caller } = sessionOf(res);
  const me = await api.call('getMe');
  const orgs = me.organizations.filter(({ id }) => may(caller, 'searchOrgMembers', id));
  return { orgs, total: orgs.length };
}

function showNew({ consoleUrl, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): void {
  requirePermission(sessionOf(res).caller, 'createOrg');
  const values = valuesOf(req, res, ['name', 'domain']);
  show(req, res, { title: ORGS.create, status: refusal?.status ?? 200, body: createBody(consoleUrl, values, refusal) });
}

async function create(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { name, domain } = valuesOf(req, res, ['name', 'domain']);
  try {
    const body = { name, ...(domain ? { domain } : {}) };
    const { id } = await sessionOf(res).api.call('createOrg', { body });
    res.redirect(303, deps.consoleUrl(`${orgPath(id)}?done=created`));
  } catch (error) {
    showNew(deps, req, res, refusalOf(error, ['name', 'domain']));
  }
}

/** @throws ApiError 403 unless the person may manage the organization */
export async function orgOf(req: Request, res: Response): Promise<OrgView> {
  const { api, caller } = sessionOf(res);
  const org = String(req.params.orgId);
  requirePermission(caller, 'searchOrgMembers', org);
  return (await api.call('getMyOrg', { org })).org;
}

async function showOne(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const { api, caller } = sessionOf(res);
  const org = await orgOf(req, res);
  const found = await api.call('searchOrgMembers', { body: { query: { limit: MOST_MEMBERS } }, org: org.id });
  const names = await userNames(
    api,
    found.result.map(({ userId }) => userId),
  );
  const values = valuesOf(req, res, ['userId', 'role']);
  const total = Number(found.details.totalResult);
  const limits = may(caller, 'getOrgLimits', org.id) ? await readLimits(api, org.id) : undefined;
  const isDeleted = org.state === 'ORG_STATE_REMOVED';
  const login = may(caller, 'getLoginPolicy', org.id) ? await readLogin(api, org.id) : undefined;
  const body = oneBody(consoleUrl, {
    org,
    members: found.result,
    total,
    nameOf: names,
    values,
    refusal,
    mayChange: may(caller, 'deactivateOrg'),
    mayAdd: !isDeleted,
    mayLimit: !isDeleted && may(caller, 'setOrgLimits'),
    mayProviders: !isDeleted && may(caller, 'listIdps', org.id),
    mayBrand: !isDeleted && may(caller, 'updateBranding', org.id),
    limits,
    maySetLogin: !isDeleted && may(caller, 'updateLoginPolicy', org.id),
    login,
  });
  const done = ownValue(ORGS.done, saidOnce(res));
  show(req, res, { title: org.name, status: refusal?.status ?? 200, body: html`${notice(done)}${body}` });
}

async function addMember(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api } = sessionOf(res);
  const org = await orgOf(req, res);
  const { userId, role } = valuesOf(req, res, ['userId', 'role']);
  try {
    const body = parseBody(orgMember, { userId, roles: [role] }, 'MEMBER-INVALID');
    await api.call('addOrgMember', { body, org: org.id });
    res.redirect(303, deps.consoleUrl(`${orgPath(org.id)}?done=added`));
  } catch (error) {
    await showOne(deps, req, res, unknownUser(error) ?? refusalOf(error, ['userId']));
  }
}

/** The API answers 403 for a user whom the person may not see, whether or not they exist. */
function unknownUser(error: unknown): Refusal | undefined {
  if (!(error instanceof ApiError) || error.http !== 403) return undefined;
  const wrong = (field: string) => (field === 'userId' ? MEMBERS.unknown : undefined);
  return { status: 403, message: undefined, wrong };
}

async function showRemoval(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const org = await orgOf(req, res);
  const userId = String(req.params.userId);
  const name = (await userNames(sessionOf(res).api, [userId]))(userId);
  const isSelf = sessionOf(res).caller.userId === userId;
  const title = MEMBERS.removeTitle(name);
  const body = formPage({
    title,
    above: { href: consoleUrl(orgPath(org.id)), text: org.name },
    problem: refusal?.message,
    action: consoleUrl(removePath(org.id, userId)),
    content: html`${list([MEMBERS.removeEffect(org.name), MEMBERS.removeStays])}
${isSelf ? notice(MEMBERS.removeSelf, 'warn') : undefined}`,
    button: MEMBERS.remove,
    back: MEMBERS.back,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

async function removeMember(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const org = await orgOf(req, res);
  try {
    await sessionOf(res).api.call('removeOrgMember', { userId: String(req.params.userId) }, { org: org.id });
    res.redirect(303, deps.consoleUrl(`${orgPath(org.id)}?done=removed`));
  } catch (error) {
    await showRemoval(deps, req, res, refusalOf(error));
  }
}

const MACHINE = ['userName', 'name', 'description'] as const;

async function showMachine(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const org = await orgOf(req, res);
  const body = machineBody(consoleUrl, org, valuesOf(req, res, MACHINE), refusal);
  show(req, res, { title: ORGS.newMachine, status: refusal?.status ?? 200, body });
}

async function addMachine(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const org = await orgOf(req, res);
  try {
    const body = valuesOf(req, res, MACHINE);
    const { userId } = await sessionOf(res).api.call('createMachineUser', { body, org: org.id });
    res.redirect(303, deps.consoleUrl(userPath(userId)));
  } catch (error) {
    await showMachine(deps, req, res, refusalOf(error, MACHINE));
  }
}

/** What was sent, or what the person typed before their session ended. */
function valuesOf<N extends string>(req: Request, res: Response, names: readonly N[]): Record<N, string> {
  const { kept } = sessionOf(res);
  const values = names.map((name) => [name, text(req.body, name).trim() || kept[name] || '']);
  return Object.fromEntries(values) as Record<N, string>;
}

export type OrgView = Answer<'getMyOrg'>['org'];
/** An organization in the list; that of a person's own organizations does not tell the state. */
type Listed = Pick<OrgView, 'id' | 'name' | 'primaryDomain'> & Partial<OrgView>;

interface OrgList {
  orgs: readonly Listed[];
  total: number;
  offset: number;
  /** What was searched for. */
  text: string;
  maySearch: boolean;
  mayCreate: boolean;
}

export function orgPath(id: string): string {
  return `/organizations/${encodeURIComponent(id)}`;
}

function listBody(consoleUrl: ConsoleUrl, { orgs, total, offset, text, maySearch, mayCreate }: OrgList): Html {
  const create = mayCreate
    ? html`<a class="button" href="${consoleUrl('/organizations/new')}">${ORGS.create}</a>`
    : undefined;
  const page = (from: number, name: string) => ({
    href: consoleUrl(`/organizations${queryOf({ q: text, from: from > 0 ? String(from) : '' })}`),
    text: name,
  });
  const before = offset > 0 ? page(offset - PAGE, ORGS.before) : undefined;
  const next = offset + PAGE < total ? page(offset + PAGE, ORGS.next) : undefined;
  return html`${headline(ORGS.title, undefined, create)}
${maySearch ? searchForm(consoleUrl, text) : undefined}
${orgs.length === 0 ? empty(ORGS.none, ORGS.noneHint) : orgTable(consoleUrl, orgs, total)}
${pages(before, next)}`;
}

function searchForm(consoleUrl: ConsoleUrl, text: string): Html {
  return html`<form class="filters" role="search" method="get" action="${consoleUrl('/organizations')}">
<div><label for="q">${ORGS.search}</label><input id="q" name="q" type="search" value="${text}" size="32" maxlength="200"></div>
<button type="submit">${ORGS.find}</button></form>`;
}

function orgTable(consoleUrl: ConsoleUrl, orgs: readonly Listed[], total: number): Html {
  const rows = orgs.map(
    ({
      id,
      name,
      primaryDomain,
      state,
    }) => html`<tr><th scope="row"><a href="${consoleUrl(orgPath(id))}">${name}</a></th>
<td data-label="${ORGS.domain}">${primaryDomain}</td><td data-label="${ORGS.id}"><code>${id}</code></td>${
      state === undefined ? undefined : html`<td data-label="${ORGS.state}">${stateOf(state)}</td>`
    }</tr>\n`,
  );
  const names = [ORGS.name, ORGS.domain, ORGS.id, ...(orgs[0]?.state === undefined ? [] : [ORGS.state])];
  return html`<p class="soft">${ORGS.found(count(total), total === 1)}</p>
<section class="card flush">${table(ORGS.title, names, rows)}</section>`;
}

function createBody(consoleUrl: ConsoleUrl, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  return formPage({
    title: ORGS.create,
    above: { href: consoleUrl('/organizations'), text: ORGS.title },
    problem: refusal?.message,
    action: consoleUrl('/organizations/new'),
    content: html`${field({ name: 'name', label: ORGS.name, value: values.name, wrong: refusal?.wrong('name') })}
${field({ name: 'domain', label: ORGS.domain, value: values.domain, hint: ORGS.domainHint, isOptional: true, wrong: refusal?.wrong('domain') })}
<p>${ORGS.createEffect}</p>`,
    button: ORGS.create,
  });
}

interface OrgPage {
  org: OrgView;
  members: Answer<'searchOrgMembers'>['result'];
  /** The number of all members; the page shows the first of them. */
  total: number;
  nameOf(userId: string): string;
  /** What was typed into the form for a new member. */
  values: Readonly<Record<string, string>>;
  refusal?: Refusal | undefined;
  /** Undefined for a person who may not see them. */
  limits: Answer<'getOrgLimits'> | undefined;
  /** Undefined for a person who may not see it. */
  login: LoginPolicyView | undefined;
  /** Whether users and members can be added: a deleted organization takes none. */
  mayAdd: boolean;
  /** Whether the person may deactivate the organization. */
  mayChange: boolean;
  /** Whether the person may manage its identity providers. */
  mayProviders: boolean;
  /** Whether the person may change its name and look. */
  mayBrand: boolean;
  /** Whether the person may set its limits. */
  mayLimit: boolean;
  /** Whether the person may set how its users sign in. */
  maySetLogin: boolean;
}

const LOOKS: Readonly<Record<OrgView['state'], string>> = {
  ORG_STATE_ACTIVE: 'good',
  ORG_STATE_INACTIVE: 'warn',
  ORG_STATE_REMOVED: 'bad',
};

function stateOf(of: OrgView['state']): Html {
  return state({ name: ownValue(ORGS.states, of) ?? of, look: LOOKS[of] });
}

/** The changes of the organization as a whole that its state allows. */
function changesOf({ state }: OrgView): (keyof typeof ORG_CHANGES.pages)[] {
  if (state === 'ORG_STATE_REMOVED') return ['undelete'];
  return [state === 'ORG_STATE_INACTIVE' ? 'reactivate' : 'deactivate', 'delete'];
}

function oneBody(consoleUrl: ConsoleUrl, page: OrgPage): Html {
  const { org } = page;
  const users = consoleUrl(`/users${queryOf({ org: org.id })}`);
  const buttons = html`<a class="button quiet" href="${users}">${ORGS.users}</a>
${page.mayAdd ? html`<a class="button quiet" href="${consoleUrl(`${orgPath(org.id)}/machines/new`)}">${ORGS.newMachine}</a>` : undefined}
${page.mayProviders ? html`<a class="button quiet" href="${consoleUrl(`${orgPath(org.id)}/providers`)}">${PROVIDERS.title}</a>` : undefined}
${page.mayBrand ? html`<a class="button quiet" href="${consoleUrl(`${orgPath(org.id)}/branding`)}">${BRANDING.title}</a>` : undefined}
${
  page.mayChange
    ? changesOf(org).map(
        (
          name,
        ) => html`<a class="button ${name === 'delete' ? 'danger' : 'quiet'}" href="${consoleUrl(`${orgPath(org.id)}/${name}`)}">${ORG_CHANGES.pages[name].button}</a>
`,
      )
    : undefined
}`;
  const about = facts([
    [ORGS.id, html`<code>${org.id}</code>`],
    [ORGS.domain, org.primaryDomain],
    [ORGS.state, stateOf(org.state)],
    [ORG_CHANGES.removal, time(org.removalDate)],
  ]);
  return html`${headline(org.name, { href: consoleUrl('/organizations'), text: ORGS.title }, buttons)}
<section class="card">${about}${
    org.state === 'ORG_STATE_ACTIVE'
      ? html`<p class="soft small">${ORGS.domainMeaning(org.primaryDomain)}</p>`
      : undefined
  }</section>
${page.login && loginCard(consoleUrl(loginPath(org.id)), page.login, page.maySetLogin)}
${page.limits && limitsCard(consoleUrl(limitsPath(org.id)), page.limits, page.mayLimit)}
<section class="card flush"><h2 class="inset">${MEMBERS.title}</h2>${membersOf(consoleUrl, page)}</section>
${page.mayAdd ? addForm(consoleUrl, page) : undefined}`;
}

function membersOf(consoleUrl: ConsoleUrl, { org, members, total, nameOf }: OrgPage): Html {
  if (members.length === 0) return html`<p class="inset soft">${MEMBERS.none}</p>`;
  const more =
    total > members.length ? html`<p class="inset soft">${MEMBERS.more(members.length, total)}</p>` : undefined;
  const rows = members.map(
    ({
      userId,
      roles,
      details,
    }) => html`<tr><th scope="row"><a href="${consoleUrl(userPath(userId))}">${nameOf(userId)}</a></th>
<td data-label="${MEMBERS.roles}">${roles.map((role) => MEMBERS.names[role] ?? role).join(', ')}</td>
<td data-label="${MEMBERS.since}">${time(details.creationDate)}</td>
<td data-label="${MEMBERS.action}"><a href="${consoleUrl(removePath(org.id, userId))}">${MEMBERS.remove}<span class="sr"> ${nameOf(userId)}</span></a></td></tr>\n`,
  );
  return html`${table(MEMBERS.title, [MEMBERS.user, MEMBERS.roles, MEMBERS.since, MEMBERS.action], rows)}${more}`;
}

function addForm(consoleUrl: ConsoleUrl, { org, values, refusal }: OrgPage): Html {
  const roles = ORG_ROLES.map((role): Choice => [role, MEMBERS.names[role] ?? role]);
  return html`<section class="card confirm"><h2>${MEMBERS.add}</h2>${notice(refusal?.message, 'bad')}
<form method="post" action="${consoleUrl(orgPath(org.id))}">
${field({ name: 'userId', label: MEMBERS.userId, value: values.userId, hint: MEMBERS.userIdHint, wrong: refusal?.wrong('userId') })}
<div class="field">${selectField(MEMBERS.role, 'role', roles, values.role ?? 'ORG_OWNER')}</div>
${list(ORG_ROLES.map((role) => MEMBERS.effects[role]))}
<div class="buttons"><button type="submit">${MEMBERS.add}</button></div></form></section>`;
}

function removePath(orgId: string, userId: string): string {
  return `${orgPath(orgId)}/members/${encodeURIComponent(userId)}/remove`;
}

function machineBody(
  consoleUrl: ConsoleUrl,
  org: OrgView,
  values: Readonly<Record<string, string>>,
  refusal?: Refusal,
): Html {
  const typed = (name: string, label: string) => ({ name, label, value: values[name], wrong: refusal?.wrong(name) });
  return formPage({
    title: ORGS.newMachine,
    above: { href: consoleUrl(orgPath(org.id)), text: org.name },
    problem: refusal?.message,
    action: consoleUrl(`${orgPath(org.id)}/machines/new`),
    content: html`<p>${ORGS.machineEffect}</p>
${field(typed('userName', ORGS.userName))}${field(typed('name', ORGS.name))}${field({ ...typed('description', ORGS.description), isOptional: true })}`,
    button: ORGS.newMachine,
  });
}
