/**
 * The pages of a login: its forms (first the name, then a password or a code by mail or text message), and the page for a
 * user who is signed in. They work without JavaScript; all of their forms are sent to the address of the login.
 */

import type { BrokenRule } from '../../contract/password-rules.ts';
import type { LengthPolicy } from '../../contract/policies.ts';
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type HtmlPage, problemPage } from '../../platform/html/layout.ts';
import { type MessageKey, say, sayHtml } from '../../platform/messages/catalogue.ts';
import { typedNumber } from '../../platform/phone.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';

/**
 * The step that is still required: the code of the second factor, to set one up, a new password and the reason for it,
 * or only to go on (way-back.ts; or without the link that was asked for).
 */
export type ProofStep = 'code' | 'setup' | 'codes-left' | 'required' | 'expired' | 'expiring' | 'resume' | 'unlinked';

/** What all pages of one login share. */
export interface LoginFrame {
  uid: string;
  token: string;
  /** Name of the application that asks. */
  clientName: string;
  /** The organization that it named, where bare user names are looked for first. */
  orgId?: string | undefined;
  /** What people type to say who they are. */
  names: NameKinds;
  /** Whether the organization, or without one any, lets people sign in with a code by mail. */
  offersCodes: boolean;
  /** Whether it lets people sign in with a phone number and a code by text message, and there is a gateway. */
  offersTexts?: boolean;
  /** Seals a name for an address, where it must not be read (`sealedName`). */
  sealName(loginName: string): string;
  /** From the address of the page to that of a sign-in; empty unless the page has a longer address. */
  up?: string;
  /** Absent where nobody signs in with a passkey. */
  passkey?: PasskeyOffer | undefined;
  /** The external providers that people may continue with. */
  providers?: readonly ProviderButton[];
  /** The account at a provider that is linked to whoever signs in now. */
  connect?: Connecting | undefined;
}

export interface PasskeyOffer {
  /** What the browser asks an authenticator, as JSON. */
  options: string;
  /** The address of the script that does so. */
  script: string;
}

export interface ProviderButton {
  id: string;
  name: string;
}

export interface Connecting {
  /** Name of the provider. */
  name: string;
  /** What the account there is called; empty if that is not known. */
  account: string;
  /** The account, as all forms of the sign-in keep it. */
  sealed: string;
}

/** The first step. Its form is that of the second one without the password, which is asked for then. */
export function nameForm(frame: LoginFrame, problem?: Problem): HtmlPage {
  const title = titleOf(frame);
  const body = html`<h1>${title}</h1>
${purposeOf(frame)}
${alert(problem)}
${step(frame, 'password')}
${field({ name: 'loginName', label: say('login.name', { names: frame.names }), autocomplete: nameTokens(frame), problem, autofocus: true })}
<button type="submit">${say('common.continue')}</button>
</form>
${passkeyButton(frame)}
${providerButtons(frame)}
<p class="links">${forgot(frame)}</p>
${back(frame)}`;
  return { title: titled(title, problem), body, ...scriptOf(frame) };
}

function scriptOf({ passkey }: LoginFrame): { scripts: string[] } {
  return { scripts: passkey ? [passkey.script] : [] };
}

/** With the second word, browsers offer passkeys among the names (WebAuthn section 5.1.4). */
function nameTokens({ passkey }: LoginFrame): 'username' | 'username webauthn' {
  return passkey ? 'username webauthn' : 'username';
}

/** Hidden until the script has seen that the browser has passkeys. */
function passkeyButton(frame: LoginFrame): Html | undefined {
  if (!frame.passkey) return undefined;
  const data = html` data-passkey="${frame.passkey.options}" data-autofill hidden`;
  return html`${step(frame, 'passkey', undefined, data)}
<p class="or">${say('common.or')}</p>
${hidden({ answer: '' })}<button type="submit" class="quiet" aria-describedby="passkey-failed">${say('common.usePasskey')}</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>${say('login.passkeyNotUsed')}</p>
</form>`;
}

function titleOf({ connect }: LoginFrame): string {
  return connect ? say('login.connectTitle', { provider: connect.name }) : say('login.title');
}

/** Says the same whether or not there is an account for it. */
function purposeOf({ connect, clientName: application }: LoginFrame): Html {
  if (!connect) return html`<p>${sayHtml('login.purpose', { application })}</p>`;
  const { name: provider, account } = connect;
  const key = account === '' ? 'login.connectPurpose' : 'login.connectPurposeNamed';
  return html`<p>${sayHtml(key, { application, provider, account })}</p>`;
}

/** The external providers, as buttons of one form; nothing of theirs is loaded. */
export function providerButtons(frame: LoginFrame): Html | undefined {
  const { providers = [], connect } = frame;
  if (providers.length === 0 || connect) return undefined;
  return html`<p class="or">${say('common.or')}</p>
${step(frame, 'provider')}<div class="buttons">
${providers.map(({ id, name }) => html`<button type="submit" name="idpId" value="${id}" class="quiet provider"><span class="initial" aria-hidden="true">${initialOf(name)}</span> <span>${say('login.continueWith', { provider: name })}</span></button>\n`)}</div>
</form>`;
}

/** What stands for a provider beside its name. */
export function initialOf(name: string): string {
  return Array.from(name.trim())[0]?.toUpperCase() ?? '';
}

/** The second step, the same for everybody: it does not tell who has a password, nor who exists. */
export function loginForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  const heading = titleOf(frame);
  const title = titled(heading, problem);
  const body = html`<h1>${heading}</h1>
${purposeOf(frame)}
${alert(problem)}
${step(frame, 'password')}
${field({ name: 'loginName', label: say('login.name', { names: frame.names }), autocomplete: nameTokens(frame), value: loginName, problem, autofocus: loginName === '' })}
${field({ name: 'password', label: say('login.password'), type: 'password', autocomplete: 'current-password', problem, autofocus: loginName !== '' })}
<button type="submit">${say('login.title')}</button>
${codeButtons(frame, loginName)}
<p class="hint" id="no-password">${say(frame.offersCodes || frame.offersTexts ? 'login.noPassword' : 'login.noPasswordNoCode')}</p>
</form>
${passkeyButton(frame)}
${providerButtons(frame)}
<p class="links">${forgot(frame, loginName)}</p>
${back(frame)}`;
  return { title, body, ...scriptOf(frame) };
}

/** Send the form of the password without one, to ask for a code. Who has typed a number is offered a text message first. */
function codeButtons({ offersCodes, offersTexts = false }: LoginFrame, loginName: string): Html | undefined {
  const mail = offersCodes ? [['code', say('common.emailCode')]] : [];
  const texts = offersTexts ? [['text', say('common.textCode')]] : [];
  const ways = typedNumber(loginName) === undefined ? [...mail, ...texts] : [...texts, ...mail];
  if (ways.length === 0) return undefined;
  return html`<p class="or">${say('common.or')}</p>
<div class="buttons">
${ways.map(([way, label]) => html`<button type="submit" name="way" value="${way}" class="quiet" formnovalidate aria-describedby="no-password">${label}</button>\n`)}</div>`;
}

/** The form for the code from the mail, the same for everybody, whether or not a mail was sent. */
export function mailCodeForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  const title = say('common.checkEmail');
  const body = html`<h1>${title}</h1>
<p>${sayHtml('login.mailedCode', { loginName })}</p>
${alert(problem)}
${step(frame, 'mail-code')}
${hidden({ loginName })}${field({ name: 'code', label: say('common.code'), autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">${say('login.title')}</button>
</form>
<div class="buttons">
${step(frame, 'password')}
${hidden({ loginName, way: 'code' })}<button type="submit" class="quiet">${say('common.emailNewCode')}</button>
</form>
${step(frame, 'password')}
${hidden({ loginName })}<button type="submit" class="quiet">${say('login.usePassword')}</button>
</form>
</div>
<p class="hint">${say('login.noMail')}</p>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** The form for the code from the text message, the same for everybody, whether or not one was sent. */
export function textCodeForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  const title = say('common.checkPhone');
  const body = html`<h1>${title}</h1>
<p>${sayHtml('login.textedCode', { loginName })}</p>
${alert(problem)}
${step(frame, 'text-code')}
${hidden({ loginName })}${field({ name: 'code', label: say('common.code'), autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">${say('login.title')}</button>
</form>
<div class="buttons">
${step(frame, 'password')}
${hidden({ loginName, way: 'text' })}<button type="submit" class="quiet">${say('common.textNewCode')}</button>
</form>
${step(frame, 'password')}
${hidden({ loginName })}<button type="submit" class="quiet">${say('login.anotherWay')}</button>
</form>
</div>
<p class="hint">${say('login.noText')}</p>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** What one step passes to the next: the login name, and the proof of the checks passed so far. */
export interface Proven {
  proof: string;
  loginName: string;
}

/** Why a new password is required or offered. */
export type ChangeReason = Exclude<ProofStep, 'code' | 'setup' | 'codes-left' | 'resume' | 'unlinked'>;

const REASONS: Record<ChangeReason, readonly [title: MessageKey, why: MessageKey]> = {
  required: ['login.choosePassword', 'login.passwordRequiredWhy'],
  expired: ['login.passwordExpired', 'login.passwordExpiredWhy'],
  expiring: ['login.choosePassword', 'login.passwordExpiringWhy'],
};

/** @param rules for the new password */
export function changeForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  { reason, rules }: { reason: ChangeReason; rules: LengthPolicy },
  problem?: Problem,
): HtmlPage {
  const [title, why] = REASONS[reason].map((key) => say(key)) as [string, string];
  const body = html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
${step(frame, 'change', proof)}
<input type="text" name="username" autocomplete="username" value="${loginName}" readonly hidden>
${newPasswordFields(rules, problem)}
<button type="submit">${say('login.setPasswordAndContinue')}</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** @param days whole days left */
export function expiringPage(frame: LoginFrame, { proof }: Proven, days: number): HtmlPage {
  const title = say('login.passwordExpires', { days });
  const body = html`<h1>${title}</h1>
<p id="why">${say('login.passwordExpiresWhy')}</p>
<div class="buttons">
${step(frame, 'choose', proof)}
<button type="submit" aria-describedby="why" autofocus>${say('login.changeNow')}</button>
</form>
${step(frame, 'later', proof)}
<button type="submit" class="quiet">${say('login.notNow')}</button>
</form>
</div>`;
  return { title, body };
}

/** The page after a sign-in that was to link an account, and did not. @param provider its name */
export function unlinkedPage(frame: LoginFrame, { proof }: Proven, provider: string): HtmlPage {
  const go = html`${step(frame, 'later', proof)}
<button type="submit">${say('common.continue')}</button>
</form>`;
  return problemPage(say('login.unlinked', { provider }), say('login.unlinkedWhy', { provider }), go);
}

const STOPS: Record<string, readonly [title: MessageKey, message: MessageKey]> = {
  'SESSION-USER-LOCKED': ['login.locked', 'login.lockedWhy'],
  'SESSION-USER-INACTIVE': ['login.inactive', 'login.inactiveWhy'],
  'SESSION-USER-INITIAL': ['login.initial', 'login.initialWhy'],
};

/** The page for a user who may not sign in, shown only after the right password; undefined for any other error. */
export function stopPage(frame: LoginFrame, errorId: string | undefined): HtmlPage | undefined {
  const stop = ownValue(STOPS, errorId);
  if (!stop) return undefined;
  const [title, message] = stop;
  return problemPage(say(title), say(message), html`${differentUser(frame)}\n${back(frame)}`);
}

/**
 * The page after too many failed attempts, the same for right and wrong passwords and for known and unknown users.
 * @param minutes until the next attempt
 */
export function pausedPage(frame: LoginFrame, minutes: number): HtmlPage {
  const links = html`<p class="links">${forgot(frame)}</p>\n${differentUser(frame)}\n${back(frame)}`;
  return problemPage(say('login.paused'), say('login.pausedWhy', { minutes }), links);
}

/**
 * The page for a user who is signed in, where an application may use that only if the user agrees.
 * @param loginName of the user
 */
export function continuePage(frame: LoginFrame, loginName: string): HtmlPage {
  const title = say('login.continueTo', { application: frame.clientName });
  const body = html`<h1>${title}</h1>
<p id="why">${sayHtml('login.signedInAs', { loginName })}</p>
<div class="buttons">
${step(frame, 'continue')}
<button type="submit" aria-describedby="why">${say('common.continue')}</button>
</form>
${step(frame, 'different')}
<button type="submit" class="quiet">${say('login.anotherAccount')}</button>
</form>
</div>
${back(frame)}`;
  return { title, body };
}

/**
 * The two fields of a new password.
 * @param rules for it, shown before the user types
 */
export function newPasswordFields(rules: LengthPolicy, problem: Problem | undefined): Html {
  const both = { type: 'password', autocomplete: 'new-password', problem } as const;
  const hint = say('common.passwordRules', { min: rules.minLength, max: rules.maxLength });
  return html`${field({ ...both, name: 'password', label: say('common.newPassword'), hint, autofocus: true })}
${field({ ...both, name: 'repeated', label: say('common.repeatNewPassword') })}`;
}

/** What is wrong with a new password, a sentence for each rule that it breaks. */
export function passwordProblem(broken: readonly BrokenRule[]): Problem {
  return { message: broken.map(({ rule, ...values }) => say(BROKEN[rule], values)).join(' ') };
}

const BROKEN: Record<BrokenRule['rule'], MessageKey> = {
  tooShort: 'error.passwordTooShort',
  tooLong: 'error.passwordTooLong',
  unusable: 'error.passwordUnusable',
  common: 'error.passwordCommon',
  isName: 'error.passwordIsName',
};

/** What is wrong with the repetition of a new password; undefined when it is the same. */
export function repetitionProblem(password: string, repeated: string): Problem | undefined {
  return password === repeated ? undefined : { message: say('error.passwordsDiffer') };
}

/** What people may type, as the messages that name it tell the cases apart. */
export type NameKinds = `loginName${'' | '_email'}${'' | '_phone'}` | `email${'' | '_phone'}`;

/**
 * What people may type, by the names that the organization allows; without an organization, by all.
 * @param names `userName`, `loginName`, `email` @param byPhone whether a phone number is a name too
 */
export function nameKinds(names: readonly string[], byPhone = false): NameKinds {
  const isEmail = names.includes('email');
  const first = isEmail ? (names.length === 1 ? 'email' : 'loginName_email') : 'loginName';
  return byPhone ? `${first}_phone` : first;
}

function differentUser(frame: LoginFrame): Html {
  return html`<p class="links"><a href="${pathTo(frame)}">${say('login.differentUser')}</a></p>`;
}

/** The parameter of `/ui/forgot` with the sealed name. */
export const TYPED_NAME = 'typed-login';

/** @param loginName what was typed, which the page for forgotten passwords takes over */
function forgot({ uid, orgId, sealName, up = '' }: LoginFrame, loginName?: string): Html {
  const query = new URLSearchParams({
    login: uid,
    ...(orgId === undefined ? {} : { organization: orgId }),
    ...(loginName === undefined ? {} : { [TYPED_NAME]: sealName(loginName) }),
  });
  return html`<a href="${up}../forgot?${String(query)}">${say('common.forgotPassword')}</a>`;
}

/** The opening of a form that sends a step. @param more further attributes */
export function step(frame: LoginFrame, name: string, proof?: string, more?: Html): Html {
  const connect = frame.connect?.sealed;
  const values = { step: name, token: frame.token, ...(proof ? { proof } : {}), ...(connect ? { connect } : {}) };
  return html`<form method="post" action="${pathTo(frame)}"${more}>
${hidden(values)}`;
}

/** The address of the sign-in, relative to that of the page. */
function pathTo({ uid, up = '' }: LoginFrame): string {
  return `${up}${encodeURIComponent(uid)}`;
}

/** Leads back to the application. */
export function back(frame: LoginFrame): Html {
  return html`<div class="aside">
${step(frame, 'cancel')}
<button type="submit" class="plain">${say('login.backTo', { application: frame.clientName })}</button>
</form>
</div>`;
}
