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
import { signInNamesOf } from '../../orgs/sign-in-names.ts';
import { readForm, text } from '../../pages/fields.ts';
import { type ForgotOrigin, forgotDonePage, forgotForm } from '../../pages/forms.ts';
import { sendPage } from '../../pages/layout.ts';
import { nameLabel } from '../../pages/name-label.ts';
import { type ForgottenDeps, requestPasswordReset } from '../password-reset.ts';

const PATH = '/ui/forgot';

export function forgotPages(deps: ForgottenDeps): Router {
  const router = Router();
  router.get(PATH, async (req, res) => {
    const origin = originOf(req.query);
    sendPage(res, 200, forgotForm(origin, { label: await labelOf(deps, origin), loginName: '' }));
  });
  router.post(PATH, readForm, (req, res) => postForgot(deps, req, res));
  return router;
}

async function postForgot(deps: ForgottenDeps, req: Request, res: Response): Promise<void> {
  const origin = originOf(req.body);
  const loginName = text(req.body, 'loginName').trim();
  if (loginName === '') {
    const label = await labelOf(deps, origin);
    const message = `Please enter your ${label.toLowerCase()}.`;
    return sendPage(res, 400, forgotForm(origin, { label, loginName: '' }, { message }));
  }
  await requestPasswordReset(deps, { loginName, orgId: namedOrganization({ ...origin }) });
  sendPage(res, 200, forgotDonePage(origin.login));
}

/** As on the page of the login that led here. */
async function labelOf({ pool }: ForgottenDeps, origin: ForgotOrigin): Promise<string> {
  return nameLabel(await signInNamesOf(pool, namedOrganization({ ...origin })));
}

function originOf(source: unknown): ForgotOrigin {
  return { login: loginOf(source), organization: text(source, 'organization') };
}

/** Id of the login to return to. Only characters of such ids are allowed, as it becomes part of an address. */
function loginOf(source: unknown): string {
  const login = text(source, 'login');
  return /^[\w-]{1,100}$/.test(login) ? login : '';
}
