/** The screens of users: the search, one user, and a page for each action on them. */

import { type Request, type Response, Router } from 'express';
import { covers, may, orgsFor, permissionDenied } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { orgNames, userFacts } from '../database.ts';
import type { ScreenDeps } from '../deps.ts';
import { sessionOf } from '../session.ts';
import { nameOfUser, userPath } from '../shapes.ts';
import { notice, parameter, queryOf } from '../shell/blocks.ts';
import { saidOnce } from '../shell/errors.ts';
import { USER_ACTIONS, USER_EDIT, USER_UNLINK } from '../texts/user.ts';
import { USER_STATES, USERS } from '../texts/users.ts';
import { editScreens, mayEdit } from './edit.ts';
import { findUsers, KINDS, listBody, type UserFilter } from './list.ts';
import { unlinkScreens } from './unlink.ts';
import {
  ACTIONS,
  type Action,
  actionsFor,
  confirmBody,
  isAllowed,
  mayRemoveLinks,
  oneBody,
  type Subject,
} from './user.ts';

const ONE = '/console/users/:userId';

export function userScreens(deps: ScreenDeps): Router {
  const router = Router();
  router.get('/console/users', (req, res) => list(deps, req, res));
  router.get(ONE, (req, res) => one(deps, req, res));
  for (const action of ACTIONS) {
    router.get(`${ONE}/${action.name}`, (req, res) => confirm(deps, action, req, res));
    router.post(`${ONE}/${action.name}`, (req, res) => act(deps, action, req, res));
  }
  return router.use(unlinkScreens(deps, `${ONE}/unlink`, subjectOf), editScreens(deps, `${ONE}/edit`, subjectOf));
}

async function list({ consoleUrl, show, pool }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const filter = filterOf(req);
  const orgIds = orgsFor(caller, 'searchUsers');
  const found = await findUsers(api, filter);
  const shownOrgs = found.page.result.map(({ details }) => details.resourceOwner);
  const names = await orgNames(pool, [...shownOrgs, ...(orgIds ?? [])]);
  const orgName = (id: string) => names.get(id) ?? id;
  const done = saidOnce(res) === 'delete' ? USER_ACTIONS.delete.done : undefined;
  const body = html`${notice(done)}${listBody(consoleUrl, { filter, ...found, orgIds, orgName })}`;
  show(req, res, { title: USERS.title, body });
}

function filterOf(req: Request): UserFilter {
  const [by, state] = [parameter(req, 'by'), parameter(req, 'state')];
  return {
    text: parameter(req, 'q'),
    kind: KINDS.find((kind) => kind === by) ?? '',
    state: state in USER_STATES ? state : '',
    orgId: parameter(req, 'org'),
    after: parameter(req, 'after'),
  };
}

/** @throws ApiError as the API answers about a user whom this person may not see */
async function subjectOf({ pool }: ScreenDeps, req: Request, res: Response): Promise<Subject> {
  const userId = String(req.params.userId);
  const answer = await sessionOf(res).api.call('getUser', { userId });
  return { ...answer, ...(await userFacts(pool, userId)) };
}

async function one(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { consoleUrl, show, pool } = deps;
  const { api, caller } = sessionOf(res);
  const subject = await subjectOf(deps, req, res);
  const { user, details } = subject;
  const { userId } = user;
  const [metadata, links, showsImport, names] = await Promise.all([
    api.call('getUserMetadata', { userId }),
    api.call('getUserLinks', { userId }),
    showsImportOf(subject, res),
    orgNames(pool, [details.resourceOwner]),
  ]);
  const orgName = names.get(details.resourceOwner) ?? details.resourceOwner;
  const mayList = may(caller, 'searchUsers', details.resourceOwner);
  const body = oneBody(consoleUrl, {
    ...subject,
    actions: actionsFor(caller, subject),
    metadataKeys: metadata.result.map(({ key }) => key),
    links: links.result,
    edits: mayEdit(caller, subject),
    removesLinks: mayRemoveLinks(caller, subject),
    showsImport,
    managesCredentials:
      user.machine !== undefined && may(caller, 'listPats', details.resourceOwner) && covers(caller, subject.rights),
    organization: mayList
      ? html`<a href="${consoleUrl(`/users${queryOf({ org: details.resourceOwner })}`)}">${orgName}</a>`
      : html`${orgName}`,
  });
  const done = ownValue<{ done?: string }>(
    { ...USER_ACTIONS, unlink: USER_UNLINK, edit: USER_EDIT },
    saidOnce(res),
  )?.done;
  show(req, res, { title: nameOfUser(user), body: html`${notice(done)}${body}` });
}

/** Whether the link to the import would lead somewhere. */
async function showsImportOf({ background }: Subject, res: Response): Promise<boolean> {
  if (!background?.importId) return false;
  try {
    await sessionOf(res).api.call('getImport', { importId: background.importId });
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.http === 403 || error.http === 404)) return false;
    throw error;
  }
}

/** @throws ApiError 403 if the person may not do it to this user; 400 if the state of the user does not allow it */
async function reach(deps: ScreenDeps, action: Action, req: Request, res: Response): Promise<Subject> {
  const subject = await subjectOf(deps, req, res);
  if (!isAllowed(sessionOf(res).caller, action, subject)) throw permissionDenied();
  return subject;
}

async function confirm(deps: ScreenDeps, action: Action, req: Request, res: Response): Promise<void> {
  const subject = await reach(deps, action, req, res);
  // Somebody else was faster, or the address is old.
  if (!action.fits(subject)) return res.redirect(303, deps.consoleUrl(userPath(subject.user.userId)));
  showConfirmation(deps, { action, subject, typed: sessionOf(res).kept.userName }, req, res);
}

async function act(deps: ScreenDeps, action: Action, req: Request, res: Response): Promise<void> {
  const { consoleUrl } = deps;
  const subject = await reach(deps, action, req, res);
  const { user } = subject;
  const typed = action.isFinal ? text(req.body, 'userName').trim() : undefined;
  if (typed !== undefined && typed !== user.username) {
    return showConfirmation(deps, { action, subject, typed, status: 400 }, req, res);
  }
  try {
    await action.run(sessionOf(res).api, user.userId);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.http !== 400 && error.http !== 409)) throw error;
    return showConfirmation(deps, { action, subject, problem: error.message, status: error.http }, req, res);
  }
  res.redirect(303, consoleUrl(`${action.isFinal ? '/users' : userPath(user.userId)}?done=${action.name}`));
}

interface Shown {
  action: Action;
  subject: Subject;
  problem?: string;
  typed?: string | undefined;
  status?: number;
}

function showConfirmation(
  { consoleUrl, show }: ScreenDeps,
  { status = 200, ...shown }: Shown,
  req: Request,
  res: Response,
): void {
  const { user } = shown.subject;
  const isSelf = sessionOf(res).caller.userId === user.userId;
  const title = USER_ACTIONS[shown.action.name].title(nameOfUser(user));
  show(req, res, { title, status, body: confirmBody(consoleUrl, { ...shown, isSelf }) });
}
