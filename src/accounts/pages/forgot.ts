/**
 * `/ui/forgot`: asks for a mail with which a new password can be chosen.
 *
 * Guarantee: one and the same answer, in the same time, whether or not there is such a user, and whatever is mailed.
 * The form needs nobody's rights, so it carries no token. If we die before the answer, it can be sent again.
 */
import { type Request, type Response, Router } from 'express';
import { readForm, text } from '../../pages/fields.ts';
import { forgotDonePage, forgotForm } from '../../pages/forms.ts';
import { sendPage } from '../../pages/layout.ts';
import { type ForgottenDeps, requestPasswordReset } from '../password-reset.ts';

const PATH = '/ui/forgot';

export function forgotPages(deps: ForgottenDeps): Router {
  const router = Router();
  router.get(PATH, (req, res) => sendPage(res, 200, forgotForm(loginOf(req.query), '')));
  router.post(PATH, readForm, (req, res) => postForgot(deps, req, res));
  return router;
}

async function postForgot(deps: ForgottenDeps, req: Request, res: Response): Promise<void> {
  const login = loginOf(req.body);
  const loginName = text(req.body, 'loginName').trim();
  if (loginName === '') {
    return sendPage(res, 400, forgotForm(login, '', { message: 'Please type your login name.' }));
  }
  await requestPasswordReset(deps, { loginName });
  sendPage(res, 200, forgotDonePage(login));
}

/** Id of the log-in to go back to: of characters that such an id has, as it becomes part of an address. */
function loginOf(source: unknown): string {
  const login = text(source, 'login');
  return /^[\w-]{1,100}$/.test(login) ? login : '';
}
