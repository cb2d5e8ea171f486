/**
 * The page that asks before the link of a user to an account at a provider is removed, and the removal.
 *
 * Guarantee: who may not remove it sees the same as for a link that does not exist.
 */
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { ScreenDeps } from '../deps.ts';
import { sessionOf } from '../session.ts';
import { nameOfUser, userPath } from '../shapes.ts';
import { headline, list, notice, parameter } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { USER_CONFIRM, USER_UNLINK } from '../texts/user.ts';
import { type Link, mayRemoveLinks, type Subject } from './user.ts';

type SubjectOf = (deps: ScreenDeps, req: Request, res: Response) => Promise<Subject>;

/** @param subjectOf reads the user of the path */
export function unlinkScreens(deps: ScreenDeps, path: string, subjectOf: SubjectOf): Router {
  const router = Router();
  const { consoleUrl } = deps;
  const pageOf = (req: Request) => userPath(String(req.params.userId));
  router.get(path, async (req, res) => {
    const named = { idpId: parameter(req, 'idp'), account: parameter(req, 'account') };
    const found = await find(await subjectOf(deps, req, res), res, named);
    if (found) ask(deps, req, res, found);
    else res.redirect(303, consoleUrl(pageOf(req)));
  });
  router.post(path, async (req, res) => {
    const named = { idpId: text(req.body, 'idp'), account: text(req.body, 'account') };
    const found = await find(await subjectOf(deps, req, res), res, named);
    const problem = found && (await remove(res, found));
    if (found && problem !== undefined) ask(deps, req, res, { ...found, problem, status: 400 });
    else res.redirect(303, consoleUrl(`${pageOf(req)}${found ? '?done=unlink' : ''}`));
  });
  return router;
}

interface Asked {
  subject: Subject;
  link: Link;
  problem?: string;
  status?: number;
}

async function find(
  subject: Subject,
  res: Response,
  { idpId, account }: { idpId: string; account: string },
): Promise<Asked | undefined> {
  const { api, caller } = sessionOf(res);
  if (!mayRemoveLinks(caller, subject)) return undefined;
  const { result } = await api.call('getUserLinks', { userId: subject.user.userId });
  const link = result.find((one) => one.idpId === idpId && one.userId === account);
  return link && { subject, link };
}

/** @returns why it was refused */
async function remove(res: Response, { subject, link }: Asked): Promise<string | undefined> {
  const params = { userId: subject.user.userId, idpId: link.idpId, linkedUserId: link.userId };
  try {
    await sessionOf(res).api.call('removeUserLink', params);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 401, 404].includes(error.http)) throw error;
    return error.message;
  }
}

function ask({ consoleUrl, show }: ScreenDeps, req: Request, res: Response, asked: Asked): void {
  const title = USER_UNLINK.title(asked.link.provider?.name ?? asked.link.idpId);
  const status = asked.status ?? 200;
  show(req, res, { title, status, body: unlinkBody(consoleUrl, asked.subject, asked) });
}

function unlinkBody(
  consoleUrl: ConsoleUrl,
  { user }: Subject,
  { link, problem }: Pick<Asked, 'link' | 'problem'>,
): Html {
  const page = consoleUrl(userPath(user.userId));
  const name = link.provider?.name ?? link.idpId;
  return html`${headline(USER_UNLINK.title(name), { href: page, text: nameOfUser(user) })}
${notice(problem, 'bad')}
<section class="card confirm">
<p><strong>${user.username}</strong></p>
${list(USER_UNLINK.effects(name, link.userName || link.userId))}
<form method="post" action="${consoleUrl(`${userPath(user.userId)}/unlink`)}">
<input type="hidden" name="idp" value="${link.idpId}"><input type="hidden" name="account" value="${link.userId}">
<div class="buttons"><button type="submit">${USER_UNLINK.button}</button>
<a class="button quiet" href="${page}">${USER_CONFIRM.back}</a></div>
</form>
</section>`;
}
