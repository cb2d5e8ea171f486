/**
 * `/ui/forgot`: requests an email to choose a new password.
 *
 * Guarantee: the same response, in the same time, whether or not the user exists and whatever is sent. The form needs
 * no authorization, so it carries no token.
 *
 * On crash: before the response, the form can be sent again.
 */
import { type Request, type Response, Router } from 'express';
import { namedOrganization } from '../../identity/oauth/named-organization.ts';
import { readForm, text } from '../../pages/fields.ts';
import { type ForgotOrigin, forgotDonePage, forgotForm } from '../../pages/forms.ts';
import { sendPage } from '../../pages/layout.ts';
import { type ForgottenDeps, requestPasswordReset } from '../password-reset.ts';

const PATH = '/ui/forgot';

export function forgotPages(deps: ForgottenDeps): Router {
  const router = Router();
  router.get(PATH, (req, res) => sendPage(res, 200, forgotForm(originOf(req.query), '')));
  router.post(PATH, readForm, (req, res) => postForgot(deps, req, res));
  return router;
}

async function postForgot(deps: ForgottenDeps, req: Request, res: Response): Promise<void> {
  const origin = originOf(req.body);
  const loginName = text(req.body, 'loginName').trim();
  if (loginName === '') {
    return sendPage(res, 400, forgotForm(origin, '', { message: 'Please enter your login name.' }));
  }
  await requestPasswordReset(deps, { loginName, orgId: namedOrganization({ ...origin }) });
  sendPage(res, 200, forgotDonePage(origin.login));
}

function originOf(source: unknown): ForgotOrigin {
  return { login: loginOf(source), organization: text(source, 'organization') };
}

/** Id of the login to return to. Only characters of such ids are allowed, as it becomes part of an address. */
function loginOf(source: unknown): string {
  const login = text(source, 'login');
  return /^[\w-]{1,100}$/.test(login) ? login : '';
}
