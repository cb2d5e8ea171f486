/** The screens of the administrators of the service (IAM_OWNER), who may do everything. Only they see it. */

import { type Request, type Response, Router } from 'express';
import type { Answer } from '../contract/client.ts';
import { requirePermission } from '../contract/permissions.ts';
import { field, text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import { ownValue } from '../platform/text/names.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { userPath } from './shapes.ts';
import { formPage, headline, list, notice, table, time } from './shell/blocks.ts';
import { type Refusal, refusalOf, saidOnce } from './shell/errors.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { ADMINISTRATORS } from './texts/administrators.ts';
import { SYSTEM } from './texts/system.ts';
import { userNames } from './users/list.ts';

const PATH = '/system/administrators';
const ALL = `/console${PATH}`;
const MOST = 200;

export function administratorScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get(ALL, (req, res) => showAll(deps, req, res));
  router.post(ALL, (req, res) => add(deps, req, res));
  router.get(`${ALL}/:userId/remove`, (req, res) => showRemoval(deps, req, res));
  router.post(`${ALL}/:userId/remove`, (req, res) => remove(deps, req, res));
  return router;
}

async function showAll(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const { api, caller, kept } = sessionOf(res);
  const { details, result } = await api.call('searchInstanceMembers', { body: { query: { limit: MOST } } });
  const ids = result.map(({ userId }) => userId);
  const body = listBody(
    consoleUrl,
    {
      administrators: result,
      total: Number(details.totalResult),
      nameOf: await userNames(api, ids),
      self: caller.userId,
      userId: text(req.body, 'userId').trim() || (kept.userId ?? ''),
    },
    refusal,
  );
  const done = ownValue(ADMINISTRATORS.done, saidOnce(res));
  show(req, res, {
    title: ADMINISTRATORS.title,
    status: refusal?.status ?? 200,
    body: html`${notice(done)}${body}`,
  });
}

async function add(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  requirePermission(sessionOf(res).caller, 'addInstanceMember');
  try {
    const body = { userId: text(req.body, 'userId').trim(), roles: ['IAM_OWNER' as const] };
    await sessionOf(res).api.call('addInstanceMember', { body });
    res.redirect(303, deps.consoleUrl(`${PATH}?done=added`));
  } catch (error) {
    await showAll(deps, req, res, refusalOf(error, ['userId']));
  }
}

async function showRemoval(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const { api, caller } = sessionOf(res);
  requirePermission(caller, 'removeInstanceMember');
  const userId = String(req.params.userId);
  const name = (await userNames(api, [userId]))(userId);
  const title = ADMINISTRATORS.removeTitle(name);
  const body = formPage({
    title,
    above: { href: consoleUrl(PATH), text: ADMINISTRATORS.title },
    problem: refusal?.message,
    action: consoleUrl(removePath(userId)),
    content: html`${list([ADMINISTRATORS.removeEffect, ADMINISTRATORS.removeStays])}
${userId === caller.userId ? notice(ADMINISTRATORS.removeSelf, 'warn') : undefined}`,
    button: ADMINISTRATORS.remove,
    back: ADMINISTRATORS.back,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

/** The API keeps the last administrator who can sign in. */
async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const userId = String(req.params.userId);
  try {
    await api.call('removeInstanceMember', { userId });
  } catch (error) {
    return showRemoval(deps, req, res, refusalOf(error));
  }
  // A person who removed themselves may no longer see the list.
  res.redirect(303, deps.consoleUrl(userId === caller.userId ? '/' : `${PATH}?done=removed`));
}

interface AdministratorsPage {
  administrators: Answer<'searchInstanceMembers'>['result'];
  /** The number of all administrators; the page shows the first of them. */
  total: number;
  nameOf(userId: string): string;
  /** The person who is signed in. */
  self: string;
  /** What was typed into the form. */
  userId: string;
}

function listBody(consoleUrl: ConsoleUrl, page: AdministratorsPage, refusal?: Refusal): Html {
  const { administrators, total } = page;
  const more = total > administrators.length ? ADMINISTRATORS.more(administrators.length, total) : '';
  return html`${headline(ADMINISTRATORS.title, { href: consoleUrl('/system'), text: SYSTEM.title })}
<p>${ADMINISTRATORS.intro}</p>
<section class="card flush">${administratorTable(consoleUrl, page)}${more && html`<p class="inset soft">${more}</p>`}</section>
<section class="card confirm"><h2>${ADMINISTRATORS.add}</h2>${notice(refusal?.message, 'bad')}
<form method="post" action="${consoleUrl(PATH)}">
${field({ name: 'userId', label: ADMINISTRATORS.userId, value: page.userId, hint: ADMINISTRATORS.userIdHint, wrong: refusal?.wrong('userId') })}
${list([ADMINISTRATORS.addEffect])}
<div class="buttons"><button type="submit">${ADMINISTRATORS.add}</button></div></form></section>`;
}

function administratorTable(consoleUrl: ConsoleUrl, { administrators, nameOf, self }: AdministratorsPage): Html {
  const columns = [ADMINISTRATORS.user, ADMINISTRATORS.userId, ADMINISTRATORS.since, ADMINISTRATORS.action];
  const rows = administrators.map(
    ({ userId, details }) => html`<tr><th scope="row"><a href="${consoleUrl(userPath(userId))}">${nameOf(userId)}</a>${
      userId === self ? html` <span class="soft small">${ADMINISTRATORS.you}</span>` : undefined
    }</th>
<td data-label="${ADMINISTRATORS.userId}"><code>${userId}</code></td>
<td data-label="${ADMINISTRATORS.since}">${time(details.creationDate)}</td>
<td data-label="${ADMINISTRATORS.action}"><a href="${consoleUrl(removePath(userId))}">${ADMINISTRATORS.remove}<span class="sr"> ${nameOf(userId)}</span></a></td></tr>\n`,
  );
  return table(ADMINISTRATORS.title, columns, rows);
}

function removePath(userId: string): string {
  return `${PATH}/${encodeURIComponent(userId)}/remove`;
}
