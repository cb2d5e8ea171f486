/**
 * The pages that the links in emails open (confirm the address, set the first password, reset the password), and
 * `/ui/forgot`, which requests an email to choose a new password.
 *
 * Guarantee: a GET consumes nothing, as mail scanners follow links; a problem shows the form again with status 400 and
 * does not reveal whether the user exists. The response of `/ui/forgot` is the same, in the same time, whether or not
 * the user exists and whatever is sent. Its form needs no authorization, so it carries no token.
 */
import { type Request, type Response, Router } from 'express';
import { PAGE_PATHS } from '../../contract/link-templates.ts';
import { signInNamesOf } from '../../directory/organizations.ts';
import { passwordRulesOf, RefusedPassword } from '../../directory/policies.ts';
import { findUser } from '../../directory/users/store.ts';
import { findOpenCode, PASSWORD_CODES } from '../../messages/mail/codes.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { ApiError } from '../../platform/errors.ts';
import { idProblem } from '../../platform/fields.ts';
import { type Problem, readForm, text } from '../../platform/html/forms.ts';
import { type HtmlPage, messagePage, sendPage } from '../../platform/html/layout.ts';
import { type MessageKey, say } from '../../platform/messages/catalogue.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';
import type { Html } from '../../platform/text/html.ts';
import { showBrandingOf } from '../branding.ts';
import { type ForgottenDeps, requestNewLink, requestPasswordReset } from '../credentials/password-reset.ts';
import {
  CODE_INVALID,
  type CodeHolder,
  holdsPasswordCode,
  setPasswordByCode,
  verifyEmail,
} from '../credentials/verification.ts';
import { originOfForm } from '../login/origin.ts';
import { namedOrganization } from '../oauth/account.ts';
import type { LiveProvider } from '../oauth/provider.ts';
import { addByLink, offerOfLink } from '../passkeys/link.ts';
import { parseAnswer } from '../webauthn/ceremony.ts';
import { type NameKinds, nameKinds, passwordProblem, repetitionProblem, TYPED_NAME } from './forms.ts';
import { sealedName, speakTo } from './interaction.ts';
import {
  expiredPage,
  type ForgotOrigin,
  forgotDonePage,
  forgotForm,
  type Link,
  newLinkPage,
  type PasswordForm,
  passkeyForm,
  passkeyLinkGonePage,
  passwordForm,
  verifyForm,
} from './link-forms.ts';
import { passkeyScript } from './passkey-offer.ts';
import { wayBack } from './way-back.ts';

export interface VerifyPageDeps extends ForgottenDeps {
  config: ForgottenDeps['config'] & RelyingPartyConfig;
  hasher: Hasher;
  oauth: LiveProvider;
}

/** The messages after success. */
const DONE: Record<PasswordForm, MessageKey> = {
  init: 'verify.accountReady',
  reset: 'verify.passwordReady',
};

/** Serves `/ui/verify`, `/ui/init`, `/ui/reset` and `/ui/new-link`; mount it at `/`. */
export function verifyPages(deps: VerifyPageDeps): Router {
  const router = Router();
  const { verify_email: verify, initialise: init, reset_password: reset, add_passkey: passkey } = PAGE_PATHS;
  router.post('/ui/new-link', readForm, (req, res) => postNewLink(deps, req, res));
  router.get(verify, (req, res) => showVerifyForm(deps, linkOf(req.query), res));
  router.post(verify, readForm, (req, res) => postVerify(deps, req, res));
  router.get(init, (req, res) => showForm(deps, 'init', linkOf(req.query), res));
  router.post(init, readForm, (req, res) => postPassword(deps, 'init', req, res));
  router.get(reset, (req, res) => showForm(deps, 'reset', linkOf(req.query), res));
  router.post(reset, readForm, (req, res) => postPassword(deps, 'reset', req, res));
  router.get(passkey, (req, res) => showPasskeyForm(deps, linkOf(req.query), res));
  router.post(passkey, readForm, (req, res) => postPasskey(deps, req, res));
  return router;
}

async function showVerifyForm(deps: VerifyPageDeps, link: Link, res: Response): Promise<void> {
  const found = await openCodeOf(deps, link);
  await showBrandingOf(deps, { userId: found && link.userId });
  if (found) await speakTo(deps, link.userId);
  sendPage(res, 200, verifyForm(link));
}

async function showPasskeyForm(deps: VerifyPageDeps, link: Link, res: Response, problem?: Problem): Promise<void> {
  const offer = idProblem(link.userId) ? undefined : await offerOfLink(deps, link);
  await showBrandingOf(deps, { userId: offer && link.userId });
  if (!offer) return sendPage(res, 400, passkeyLinkGonePage());
  await speakTo(deps, link.userId);
  sendPage(res, problem ? 400 : 200, passkeyForm(link, offer, passkeyScript(deps.config.baseUrl), problem));
}

/** Wrong codes need no count: 60 bits are not guessed, and each try costs one lookup. */
async function postPasskey(deps: VerifyPageDeps, req: Request, res: Response): Promise<void> {
  const link = linkOf(req.body);
  try {
    const answer = parseAnswer(text(req.body, 'answer'));
    const isAdded = !idProblem(link.userId) && (await addByLink(deps, { ...link, answer }));
    await showBrandingOf(deps, { userId: isAdded ? link.userId : undefined });
    if (!isAdded) return sendPage(res, 400, { ...passkeyLinkGonePage(), reopenedBy: { ...link } });
    await speakTo(deps, link.userId);
    sendPage(res, 200, resultPage('verify.passkeyAdded', 'verify.passkeyAddedWhy'));
  } catch (error) {
    const key = error instanceof ApiError ? PASSKEY_PROBLEMS[error.id] : undefined;
    if (key === undefined) throw error;
    await showPasskeyForm(deps, link, res, { message: say(key), fields: [] });
  }
}

const PASSKEY_PROBLEMS: Readonly<Record<string, MessageKey>> = {
  'PASSKEY-NOT-ACCEPTED': 'verify.passkeyRefused',
  'PASSKEY-TAKEN': 'verify.passkeyTaken',
};

/** What came of a link, which can be used once. */
function resultPage(title: MessageKey, message: MessageKey, more?: Html): HtmlPage {
  return { ...messagePage(say(title), say(message), more), reopenedBy: 'nothing' };
}

async function postVerify(deps: VerifyPageDeps, req: Request, res: Response): Promise<void> {
  const link = linkOf(req.body);
  const login = await loginOfLink(deps, link);
  const good = await accepted(req, res, (holder) => verifyEmail(deps, holder));
  if (!good) return sendPage(res, 400, expiredPage('verify', link));
  const back = await wayBack(deps, { login, userId: link.userId, hasNewPassword: false });
  await speakTo(deps, link.userId);
  const message = back ? 'verify.thanks' : 'verify.thanksClose';
  sendPage(res, 200, resultPage('verify.emailConfirmed', message, back?.form()), back);
}

async function postPassword(deps: VerifyPageDeps, form: PasswordForm, req: Request, res: Response): Promise<void> {
  const link = linkOf(req.body);
  const password = text(req.body, 'password');
  const repeated = text(req.body, 'repeated');
  if (password !== repeated) {
    return showForm(deps, form, link, res, () => repetitionProblem(password, repeated));
  }
  try {
    const login = await loginOfLink(deps, link);
    const choice = { password, changeRequired: false };
    const good = await accepted(req, res, (holder) => setPasswordByCode(deps, holder, choice));
    if (!good) return sendPage(res, 400, expiredPage(form, link));
    const back = await wayBack(deps, { login, userId: link.userId, hasNewPassword: true });
    await speakTo(deps, link.userId);
    const message = back ? 'verify.toApplication' : DONE[form];
    sendPage(res, 200, resultPage('verify.passwordSet', message, back?.form()), back);
  } catch (error) {
    if (!(error instanceof RefusedPassword)) throw error;
    await showForm(deps, form, link, res, () => passwordProblem(error.broken));
  }
}

/** The sign-in that the link was asked for in. Only who has the code sees the branding of the user's organization. */
async function loginOfLink(deps: VerifyPageDeps, link: Link): Promise<string | null> {
  const found = await openCodeOf(deps, link);
  await showBrandingOf(deps, { userId: found && link.userId });
  return found?.login ?? null;
}

async function openCodeOf({ pool: db, secrets }: VerifyPageDeps, { userId, code: entered }: Link) {
  const purposes = ['verify_email', ...PASSWORD_CODES] as const;
  return idProblem(userId) ? undefined : findOpenCode({ db, secrets }, { userId, entered, purposes });
}

/** Answers the same for every user, as does the page for forgotten passwords. */
async function postNewLink(deps: VerifyPageDeps, req: Request, res: Response): Promise<void> {
  await requestNewLink(deps, { ...linkOf(req.body), isToVerify: text(req.body, 'action') === 'verify' });
  await showBrandingOf(deps, {});
  sendPage(res, 200, newLinkPage());
}

/**
 * The rules of the user's organization are shown only to holders of the code, and in the language of the user; others see
 * those of the instance.
 */
async function showForm(
  deps: VerifyPageDeps,
  form: PasswordForm,
  link: Link,
  res: Response,
  problemOf?: () => Problem | undefined,
) {
  const isHolder = !idProblem(link.userId) && (await holdsPasswordCode(deps, link));
  const user = isHolder ? await findUser(deps.pool, link.userId) : undefined;
  await showBrandingOf(deps, { orgId: user?.orgId });
  const rules = await passwordRulesOf(deps.pool, user?.orgId ?? null);
  if (user) await speakTo(deps, user.id);
  const problem = problemOf?.();
  sendPage(res, problem ? 400 : 200, passwordForm(form, link, rules, problem));
}

/** Whether the code was accepted; other errors are rethrown. */
async function accepted(req: Request, res: Response, use: (holder: CodeHolder) => Promise<unknown>): Promise<boolean> {
  const link = linkOf(req.body);
  if (idProblem(link.userId)) return false;
  try {
    await use({ ...link, editor: link.userId, origin: originOfForm(req, res) });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.id === CODE_INVALID) return false;
    throw error;
  }
}

function linkOf(source: unknown): Link {
  return { userId: text(source, 'userId'), code: text(source, 'code') };
}

const FORGOT = '/ui/forgot';

/** Serves `/ui/forgot`; mount it at `/`. */
export function forgotPages(deps: ForgottenDeps): Router {
  const router = Router();
  router.get(FORGOT, async (req, res) => {
    const origin = originOf(req.query);
    await showBrandingOf(deps, { orgId: namedOrganization({ ...origin }) });
    const loginName = sealedName(deps.secrets, text(req.query, TYPED_NAME));
    sendPage(res, 200, forgotForm(origin, { names: await namesOf(deps, origin), loginName }));
  });
  router.post(FORGOT, readForm, (req, res) => postForgot(deps, req, res));
  return router;
}

async function postForgot(deps: ForgottenDeps, req: Request, res: Response): Promise<void> {
  const origin = originOf(req.body);
  await showBrandingOf(deps, { orgId: namedOrganization({ ...origin }) });
  const loginName = text(req.body, 'loginName').trim();
  if (loginName === '') {
    const names = await namesOf(deps, origin);
    const message = say('login.nameMissing', { names });
    return sendPage(res, 400, forgotForm(origin, { names, loginName: '' }, { message }));
  }
  await requestPasswordReset(deps, { loginName, orgId: namedOrganization({ ...origin }), login: origin.login });
  sendPage(res, 200, forgotDonePage(origin));
}

/** What people may type, as on the page of the login that led here. */
async function namesOf({ pool }: ForgottenDeps, origin: ForgotOrigin): Promise<NameKinds> {
  return nameKinds(await signInNamesOf(pool, namedOrganization({ ...origin })));
}

function originOf(source: unknown): ForgotOrigin {
  return { login: loginOf(source), organization: text(source, 'organization') };
}

/** Id of the login to return to. Only characters of such ids are allowed, as it becomes part of an address. */
function loginOf(source: unknown): string {
  const login = text(source, 'login');
  return /^[\w-]{1,100}$/.test(login) ? login : '';
}
