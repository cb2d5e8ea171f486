/**
 * The login page that the authorization server sends users to, `/ui/login/:uid`, and its steps: ask for the name, check
 * the password or a code by mail, and the code of the second factor, set one up, set a new password, continue.
 *
 * Guarantee: a login belongs to one browser, by the authorization server's own cookie for this very address; each form
 * belongs to the login, by a token. An unknown user and a wrong password get the same page. No step succeeds without
 * the proof from the step before it, and a user whose state or password has changed since is not logged in.
 *
 * On crash: the page can be loaded and the step sent again until the login ends.
 */
import { type Request, type Response, Router } from 'express';
import { errors } from 'oidc-provider';
import { holderOf } from '../../messages/mail/sign-in-codes.ts';
import { ApiError } from '../../platform/errors.ts';
import { textProblem } from '../../platform/fields.ts';
import { type Problem, readForm, text } from '../../platform/html/forms.ts';
import { sendPage } from '../../platform/html/layout.ts';
import { say } from '../../platform/messages/catalogue.ts';
import { recordLogin } from '../login/attempts.ts';
import { checkAfterPassword, checkLogin, type PasswordProof } from '../login/check.ts';
import { originOfForm } from '../login/origin.ts';
import { askForCode } from '../mail-code/ask.ts';
import { checkMailCode } from '../mail-code/check.ts';
import { loginGonePage } from '../oauth/pages.ts';
import { checkByPasskey, WRONG_PASSKEY } from '../passkeys/sign-in.ts';
import { requireStillProvided } from '../providers/sign-in.ts';
import { askForText } from '../sms-code/ask.ts';
import { checkTextCode } from '../sms-code/check.ts';
import { parseAnswer } from '../webauthn/ceremony.ts';
import { askForOther, checkCode, checkSetUp } from './factor-step.ts';
import {
  continuePage,
  loginForm,
  mailCodeForm,
  nameForm,
  type ProofStep,
  repetitionProblem,
  textCodeForm,
} from './forms.ts';
import {
  again,
  findInteraction,
  firstForm,
  isFormToken,
  isRefusal,
  type LoginPageDeps,
  type LoginProof,
  type LoginRequest,
  proofOf,
  refuse,
  show,
  speakTo,
  startAgain,
  wrong,
} from './interaction.ts';
import { askForLostCode, checkLostCode, needsLostCode } from './lost-code.ts';
import { isSamePassword, ownPasswordProblem, replaceOwnPassword } from './own-credentials.ts';
import { checkFirst, finish, proceed, showChange, showSetUp } from './proceed.ts';
import { leadStraight, PROVIDER_STEPS, providerReturns } from './providers.ts';
import { homeOf } from './way-back.ts';

const PATH = '/ui/login/:uid';

/** Serves `/ui/login/:uid`; mount it at `/`. */
export function loginPages(deps: LoginPageDeps): Router {
  const router = Router();
  router.get(PATH, (req, res) => getLogin(deps, req, res));
  router.post(PATH, readForm, (req, res) => postLogin(deps, req, res));
  router.use(providerReturns(deps));
  return router;
}

async function getLogin(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const interaction = await findInteraction(deps, req, res);
  if (!interaction) return sendPage(res, 410, loginGonePage());
  const loginRequest = { deps, interaction, req, res };
  const { frame, loginName, signedInAs } = interaction;
  if (signedInAs) return show(loginRequest, 200, continuePage(frame, signedInAs));
  if (!(await leadStraight(loginRequest))) show(loginRequest, 200, firstForm(frame, loginName));
}

async function postLogin(deps: LoginPageDeps, req: Request, res: Response): Promise<void> {
  const interaction = await findInteraction(deps, req, res);
  const home = interaction ? undefined : homeOf(deps.secrets, text(req.body, 'home'));
  if (home !== undefined) return res.redirect(303, home);
  if (!interaction) return sendPage(res, 410, loginGonePage());
  if (!isFormToken(deps.secrets, interaction.frame.uid, text(req.body, 'token'))) {
    throw new ApiError('PERMISSION_DENIED', 'PAGE-TOKEN', 'The form does not belong to this login.');
  }
  const step = LOGIN_STEPS.get(text(req.body, 'step'));
  if (!step) throw new ApiError('INVALID_ARGUMENT', 'PAGE-STEP', 'The form has an unknown step.');
  try {
    await step({ deps, interaction, req, res });
  } catch (error) {
    // The login ended in the meantime: the user was locked, or another tab was faster.
    if (!(error instanceof errors.SessionNotFound)) throw error;
    sendPage(res, 410, loginGonePage());
  }
}

/** The steps of a login, by the name that their forms send. */
export const LOGIN_STEPS: ReadonlyMap<string, (loginRequest: LoginRequest) => Promise<void>> = new Map([
  ['password', checkPassword],
  ['mail-code', checkSentCode],
  ['text-code', checkSentCode],
  ['code', checkCode],
  ['other-factor', askForOther],
  ['setup', checkSetUp],
  ['lost-code', (loginRequest) => checkLostCode(loginRequest, afterLostCode)],
  ['choose', choosePassword],
  ['change', changePassword],
  ['later', continueUnchanged],
  ['resume', resume],
  ['continue', continueSignedIn],
  ['different', signInAsAnother],
  ['cancel', cancel],
  ['passkey', signInWithPasskey],
  ...PROVIDER_STEPS,
]);

/** The name, with a password, with the wish for a code, or alone: then the next page asks for either. */
async function checkPassword(loginRequest: LoginRequest): Promise<void> {
  const { body } = loginRequest.req;
  const loginName = text(body, 'loginName').trim();
  const way = text(body, 'way');
  const isCode = way === 'code' || way === 'text';
  if (!isCode && Object.hasOwn(body, 'password')) return checkTyped(loginRequest, loginName, text(body, 'password'));
  const { frame } = loginRequest.interaction;
  if (!isCode && loginName !== '' && (await leadStraight(loginRequest, loginName))) return;
  if (loginName === '') {
    const message = say('login.nameMissing', { names: frame.names });
    return show(loginRequest, 400, nameForm(frame, { message }));
  }
  if (isCode) return sendCode(loginRequest, loginName, way === 'text');
  show(loginRequest, 200, loginForm(frame, loginName));
}

/** Goes on after a new password was set by a link in this browser. */
async function resume(loginRequest: LoginRequest): Promise<void> {
  const { deps, req, res } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), ['resume']);
  if (!proof) return startAgain(loginRequest);
  await checkFirst(loginRequest, proof.loginName, (proven) => {
    proven(proof);
    return checkAfterPassword(deps, proof, originOfForm(req, res));
  });
}

/** Sends a code to this name, if it can be; the page does not tell. */
async function sendCode(loginRequest: LoginRequest, loginName: string, byText: boolean): Promise<void> {
  const { deps, interaction, req, res } = loginRequest;
  const { frame } = interaction;
  const asked = { loginName, orgId: frame.orgId, login: frame.uid, origin: originOfForm(req, res) };
  await (byText ? askForText(deps, asked) : askForCode(deps, asked));
  show(loginRequest, 200, byText ? textCodeForm(frame, loginName) : mailCodeForm(frame, loginName));
}

/** A code by mail or by text message. */
async function checkSentCode(loginRequest: LoginRequest): Promise<void> {
  const { deps, interaction, req, res } = loginRequest;
  const { frame } = interaction;
  const loginName = text(req.body, 'loginName').trim();
  const byText = text(req.body, 'step') === 'text-code';
  const form = byText ? textCodeForm : mailCodeForm;
  const wrongCode = () => {
    show(loginRequest, 400, form(frame, loginName, { message: say('login.wrongSentCode'), fields: ['code'] }));
  };
  if (textProblem(loginName, 500) || loginName === '') return startAgain(loginRequest);
  const user = { loginName, orgId: frame.orgId, alsoUnverified: !byText };
  const attempt = { user, ...originOfForm(req, res) };
  const code = { code: text(req.body, 'code'), holder: holderOf('login', frame.uid) };
  const check = byText ? checkTextCode : checkMailCode;
  await checkFirst(loginRequest, loginName, (proven) => check(deps, attempt, code, proven), { wrongCode });
}

/** The answer of an authenticator, as the script of the page sends it: it says who it is. */
async function signInWithPasskey(loginRequest: LoginRequest): Promise<void> {
  const { deps, interaction, req, res } = loginRequest;
  const { frame } = interaction;
  const given = {
    answer: parseAnswer(text(req.body, 'answer')),
    of: { purpose: 'sign_in', holder: frame.uid },
  } as const;
  const seen: { user?: PasswordProof } = {};
  try {
    const login = await checkByPasskey(deps, given, originOfForm(req, res), (right) => {
      seen.user = right;
    });
    await proceed(loginRequest, login, seen.user as PasswordProof);
  } catch (error) {
    const problem = { message: say('login.passkeyRefused'), fields: [] };
    if (seen.user) await speakTo(deps, seen.user.id);
    if (!isRefusal(error, WRONG_PASSKEY)) return refuse(loginRequest, error, '', problem);
    show(loginRequest, 400, firstForm(frame, interaction.loginName, problem));
  }
}

async function checkTyped(loginRequest: LoginRequest, loginName: string, password: string): Promise<void> {
  if (textProblem(loginName, 500) || textProblem(password, 200)) return wrong(loginRequest, loginName);
  const user = { loginName, orgId: loginRequest.interaction.frame.orgId };
  const attempt = { user, ...originOfForm(loginRequest.req, loginRequest.res) };
  await checkFirst(loginRequest, loginName, (proven) => checkLogin(loginRequest.deps, attempt, { password }, proven));
}

/** Shows the form for a new password to a user who chose to change it before it expires. */
async function choosePassword(loginRequest: LoginRequest): Promise<void> {
  const proof = proofOf(loginRequest, text(loginRequest.req.body, 'proof'), ['expiring']);
  if (!proof) return startAgain(loginRequest);
  await showChange(loginRequest, proof);
}

/** The form that the code was needed for. */
function afterLostCode(loginRequest: LoginRequest, proof: LoginProof): Promise<void> {
  return proof.step === 'setup' ? showSetUp(loginRequest, proof) : showChange(loginRequest, proof);
}

const CHANGES: readonly ProofStep[] = ['required', 'expired', 'expiring'];

async function changePassword(loginRequest: LoginRequest): Promise<void> {
  const { deps, req } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), CHANGES);
  if (!proof) return startAgain(loginRequest);
  if (await needsLostCode(loginRequest, proof)) return askForLostCode(loginRequest, proof);
  const password = text(req.body, 'password');
  const problem =
    repetitionProblem(password, text(req.body, 'repeated')) ??
    (await ownPasswordProblem(deps, proof.id, password)) ??
    (await sameProblem(loginRequest, proof, password));
  if (problem) return showChange(loginRequest, proof, problem);
  try {
    await replaceOwnPassword(deps, proof, password);
  } catch (error) {
    return refuse(loginRequest, error, proof.loginName, again());
  }
  await finish(loginRequest, proof);
}

async function sameProblem({ deps }: LoginRequest, proof: LoginProof, password: string): Promise<Problem | undefined> {
  if (!(await isSamePassword(deps, proof.id, password))) return undefined;
  return { message: say('login.samePassword') };
}

/** Continues with a password that expires soon, or without the link that was asked for. */
async function continueUnchanged(loginRequest: LoginRequest): Promise<void> {
  const { deps, req } = loginRequest;
  const proof = proofOf(loginRequest, text(req.body, 'proof'), ['expiring', 'codes-left', 'unlinked']);
  if (!proof) return startAgain(loginRequest);
  try {
    await requireStillProvided(deps, proof);
  } catch (error) {
    return refuse(loginRequest, error, proof.loginName, again());
  }
  if ((await recordLogin(deps.pool, proof, { hasCode: true })) !== 'active') return startAgain(loginRequest);
  await finish(loginRequest, proof);
}

/** The user who is signed in lets the application have that. */
async function continueSignedIn(loginRequest: LoginRequest): Promise<void> {
  const { deps, req, res, interaction } = loginRequest;
  if (interaction.signedInAs === undefined) return startAgain(loginRequest);
  await deps.oauth.current().interactionFinished(req, res, { consent: {} }, { mergeWithLastSubmission: false });
}

async function signInAsAnother(loginRequest: LoginRequest): Promise<void> {
  show(loginRequest, 200, nameForm(loginRequest.interaction.frame));
}

async function cancel({ deps, req, res }: LoginRequest): Promise<void> {
  const result = { error: 'access_denied', error_description: 'the login was cancelled' };
  await deps.oauth.current().interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}
