/**
 * The login page that the authorization server sends users to: `/ui/login/:uid`.
 *
 * Guarantee: a login belongs to one browser, by the authorization server's own cookie for this very address; each form
 * belongs to the login, by a token.
 *
 * On crash: the page can be loaded again until the login ends.
 */
import { type Request, type Response, Router } from 'express';
import { errors } from 'oidc-provider';
import { ApiError } from '../../errors.ts';
import { continuePage } from '../../pages/continue.ts';
import { readForm, text } from '../../pages/fields.ts';
import { sendPage } from '../../pages/layout.ts';
import { loginForm } from '../../pages/login-forms.ts';
import { loginGonePage } from '../../pages/sign-out.ts';
import { isFormToken } from './login-proof.ts';
import { LOGIN_STEPS } from './login-steps.ts';
import { findVisit, type LoginPageDeps, show } from './login-visit.ts';

const PATH = '/ui/login/:uid';

export function loginPages(deps: LoginPageDeps): Router {
  const router = Router();
  router.get(PATH, (req, res) => getLogin(deps, req, res));
  router.post(PATH, readForm, (req, res) => postLogin(deps, req, res));
  return router;
}

async function getLogin(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const visit = await findVisit(deps, req, res);
  if (!visit) return sendPage(res, 410, loginGonePage());
  const { frame, loginName, signedInAs } = visit;
  show({ deps, visit, req, res }, 200, signedInAs ? continuePage(frame, signedInAs) : loginForm(frame, loginName));
}

async function postLogin(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const visit = await findVisit(deps, req, res);
  if (!visit) return sendPage(res, 410, loginGonePage());
  if (!isFormToken(deps.secrets, visit.frame.uid, text(req.body, 'token'))) {
    throw new ApiError('PERMISSION_DENIED', 'PAGE-TOKEN', 'The form does not belong to this login.');
  }
  const step = LOGIN_STEPS.get(text(req.body, 'step'));
  if (!step) throw new ApiError('INVALID_ARGUMENT', 'PAGE-STEP', 'The form has an unknown step.');
  try {
    await step({ deps, visit, req, res });
  } catch (error) {
    // The login ended in the meantime: the user was locked, or another tab was faster.
    if (!(error instanceof errors.SessionNotFound)) throw error;
    sendPage(res, 410, loginGonePage());
  }
}
