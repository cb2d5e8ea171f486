/**
 * The login page that the authorization server sends users to, `/ui/login/:uid`, and its steps: check the password and
 * the code of the second factor, set one up, set a new password, continue.
 *
 * Guarantee: a login belongs to one browser, by the authorization server's own cookie for this very address; each form
 * belongs to the login, by a token. An unknown user and a wrong password get the same page. No step succeeds without
 * the proof from the step before it, and a user whose state or password has changed since is not logged in.
 *
 * On crash: the page can be loaded and the step sent again until the login ends.
 */
import { type Request, type Response, Router } from 'express';
import { errors } from 'oidc-provider';
import { recordSignIn } from '../../directory/sign-in-events.ts';
import { newTotpSecret } from '../../passwords/totp-secret.ts';
import { ApiError } from '../../platform/errors.ts';
import { textProblem } from '../../platform/fields.ts';
import { type Problem, readForm, text } from '../../platform/html/forms.ts';
import { sendPage } from '../../platform/html/layout.ts';
import { nameCaller } from '../../platform/request-context.ts';
import { settleLogin } from '../login/attempts.ts';
import {
  type CheckedLogin,
  checkAfterPassword,
  checkLogin,
  checkWithNewFactor,
  MFA_SETUP_REQUIRED,
  type PasswordProof,
} from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { loginGonePage } from '../oauth/pages.ts';
import {
  type ChangeReason,
  changeForm,
  codeForm,
  continuePage,
  expiringPage,
  factorForm,
  loginForm,
  type ProofStep,
  repetitionProblem,
} from './forms.ts';
import {
  AGAIN,
  findVisit,
  isFormToken,
  isRefusal,
  type LoginPageDeps,
  type LoginProof,
  proofOf,
  prove,
  refuse,
  show,
  startAgain,
  type Turn,
  wrong,
} from './interaction.ts';
import {
  factorKey,
  isSamePassword,
  ownPasswordProblem,
  ownPasswordRules,
  replaceOwnPassword,
  setUpFactor,
} from './own-credentials.ts';

const PATH = '/ui/login/:uid';

/** Serves `/ui/login/:uid`; mount it at `/`. */
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

/** The steps of a login, by the name that their forms send. */
export const LOGIN_STEPS: ReadonlyMap<string, (turn: Turn) => Promise<void>> = new Map([
  ['password', checkPassword],
  ['code', checkCode],
  ['setup', checkSetUp],
  ['choose', choosePassword],
  ['change', changePassword],
  ['later', continueUnchanged],
  ['continue', continueSignedIn],
  ['different', signInAsAnother],
  ['cancel', cancel],
]);

async function checkPassword(turn: Turn): Promise<void> {
  const loginName = text(turn.req.body, 'loginName').trim();
  const password = text(turn.req.body, 'password');
  const seen: { user?: PasswordProof } = {};
  try {
    if (textProblem(loginName, 500) || textProblem(password, 200)) return wrong(turn, loginName);
    const user = { loginName, orgId: turn.visit.frame.orgId };
    const login = await checkLogin(turn.deps, { user, ...originOfForm(turn.req, turn.res) }, { password }, (right) => {
      seen.user = right;
    });
    await proceed(turn, login, seen.user as PasswordProof);
  } catch (error) {
    if (!seen.user) return refuse(turn, error, loginName);
    const proof = { ...pick(seen.user), amr: [], loginName };
    if (isRefusal(error, 'SESSION-TOTP-REQUIRED')) return askForCode(turn, proof);
    if (isRefusal(error, MFA_SETUP_REQUIRED)) return showSetUp(turn, { ...proof, step: 'setup' });
    refuse(turn, error, loginName);
  }
}

function askForCode(turn: Turn, proof: Omit<LoginProof, 'step'>): void {
  show(turn, 200, codeForm(turn.visit.frame, prove(turn, { ...proof, step: 'code' })));
}

/** The form to set up a second factor, with its secret: a new one, or that of the proof. */
async function showSetUp(turn: Turn, proof: LoginProof, problem?: Problem): Promise<void> {
  const { secret = newTotpSecret() } = proof;
  const key = await factorKey(turn.deps, proof, secret);
  const proven = prove(turn, { ...proof, secret });
  show(turn, problem ? 400 : 200, factorForm(turn.visit.frame, proven, key, problem));
}

const NOT_THIS_CODE: Problem = {
  message:
    'The code is wrong. Please enter the one that the app shows now, and check that the clock of your phone is right.',
  fields: ['code'],
};

async function checkSetUp(turn: Turn): Promise<void> {
  const { deps, req, res } = turn;
  const proof = proofOf(turn, text(req.body, 'proof'), ['setup']);
  if (proof?.secret === undefined) return startAgain(turn);
  const { secret, ...rest } = proof;
  const code = text(req.body, 'code');
  try {
    const enrol = () => setUpFactor(deps, proof, secret, code);
    await proceed(turn, await checkWithNewFactor(deps, proof, originOfForm(req, res), enrol), proof);
  } catch (error) {
    if (isRefusal(error, 'TOTP-CODE')) return showSetUp(turn, proof, NOT_THIS_CODE);
    // Another tab was faster.
    if (isRefusal(error, 'TOTP-ACTIVE')) return askForCode(turn, rest);
    refuse(turn, error, proof.loginName, AGAIN);
  }
}

async function checkCode(turn: Turn): Promise<void> {
  const proof = proofOf(turn, text(turn.req.body, 'proof'), ['code']);
  if (!proof) return startAgain(turn);
  const again = (message: string) => show(turn, 400, codeForm(turn.visit.frame, prove(turn, proof), { message }));
  try {
    const origin = originOfForm(turn.req, turn.res);
    await proceed(turn, await checkAfterPassword(turn.deps, proof, origin, text(turn.req.body, 'code')), proof);
  } catch (error) {
    if (isRefusal(error, 'SESSION-TOTP-REQUIRED')) return again('Please enter the code.');
    if (isRefusal(error, 'SESSION-TOTP'))
      return again('The code is wrong or has already been used. Please enter the next one.');
    refuse(turn, error, proof.loginName);
  }
}

/** After all checks: leads to the form for a new password, to a warning, or to the application. */
async function proceed(turn: Turn, login: CheckedLogin, shown: PasswordProof): Promise<void> {
  const { mustChange, expiresInDays, loginName, amr } = login;
  const step = mustChange ?? 'expiring';
  if (!mustChange && expiresInDays === undefined) return finish(turn, login.id, amr);
  const proof = { ...pick(shown), step, amr, loginName } as const;
  if (mustChange) return showChange(turn, proof);
  show(turn, 200, expiringPage(turn.visit.frame, prove(turn, proof), expiresInDays ?? 0));
}

/** The form for a new password, with the rules for it. */
async function showChange(turn: Turn, proof: LoginProof, problem?: Problem): Promise<void> {
  const about = { reason: proof.step as ChangeReason, rules: await ownPasswordRules(turn.deps, proof.id) };
  show(turn, problem ? 400 : 200, changeForm(turn.visit.frame, prove(turn, proof), about, problem));
}

/** Shows the form for a new password to a user who chose to change it before it expires. */
async function choosePassword(turn: Turn): Promise<void> {
  const proof = proofOf(turn, text(turn.req.body, 'proof'), ['expiring']);
  if (!proof) return startAgain(turn);
  await showChange(turn, proof);
}

const CHANGES: readonly ProofStep[] = ['required', 'expired', 'expiring'];

async function changePassword(turn: Turn): Promise<void> {
  const { deps, req } = turn;
  const proof = proofOf(turn, text(req.body, 'proof'), CHANGES);
  if (!proof) return startAgain(turn);
  const password = text(req.body, 'password');
  const problem =
    repetitionProblem(password, text(req.body, 'repeated')) ??
    (await ownPasswordProblem(deps, proof.id, password)) ??
    (await sameProblem(turn, proof, password));
  if (problem) return showChange(turn, proof, problem);
  try {
    await replaceOwnPassword(deps, proof, password);
  } catch (error) {
    return refuse(turn, error, proof.loginName, AGAIN);
  }
  await finish(turn, proof.id, proof.amr);
}

async function sameProblem({ deps }: Turn, proof: LoginProof, password: string): Promise<Problem | undefined> {
  if (!(await isSamePassword(deps, proof.id, password))) return undefined;
  return { message: 'This is your current password. Please choose a different one.' };
}

/** Continues with a password that expires soon. */
async function continueUnchanged(turn: Turn): Promise<void> {
  const proof = proofOf(turn, text(turn.req.body, 'proof'), ['expiring']);
  if (!proof || (await settleLogin(turn.deps.pool, proof)) !== 'active') return startAgain(turn);
  await finish(turn, proof.id, proof.amr);
}

/** The user who is signed in lets the application have that. */
async function continueSignedIn(turn: Turn): Promise<void> {
  const { deps, req, res, visit } = turn;
  if (visit.signedInAs === undefined) return startAgain(turn);
  await deps.oauth.current().interactionFinished(req, res, { consent: {} }, { mergeWithLastSubmission: false });
}

async function signInAsAnother(turn: Turn): Promise<void> {
  show(turn, 200, loginForm(turn.visit.frame, ''));
}

async function cancel({ deps, req, res }: Turn): Promise<void> {
  const result = { error: 'access_denied', error_description: 'the login was cancelled' };
  await deps.oauth.current().interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

async function finish({ deps, req, res }: Turn, accountId: string, amr: string[]): Promise<void> {
  nameCaller({ userId: accountId });
  await recordSignIn(deps.pool, { id: accountId }, amr);
  // Signing in also is the choice that `prompt=select_account` asks for.
  const result = { login: { accountId, amr }, select_account: {} };
  await deps.oauth.current().interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

function pick({ id, passwordSetAt }: PasswordProof): PasswordProof {
  return { id, passwordSetAt };
}
