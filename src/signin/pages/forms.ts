/**
 * The pages of a login: its forms (first the name, then a password or a code by mail or text message), and the page for a
 * user who is signed in. They work without JavaScript; all of their forms are sent to the address of the login.
 */

import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { type HtmlPage, problemPage } from '../../platform/html/layout.ts';
import { typedNumber } from '../../platform/phone.ts';
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
  /** What people type to say who they are; see `nameLabel`. */
  nameLabel: string;
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
${field({ name: 'loginName', label: frame.nameLabel, autocomplete: nameTokens(frame), problem, autofocus: true })}
<button type="submit">Continue</button>
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
<p class="or">or</p>
${hidden({ answer: '' })}<button type="submit" class="quiet" aria-describedby="passkey-failed">Use a passkey</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>No passkey was used. Try again, or sign in in another way.</p>
</form>`;
}

function titleOf({ connect }: LoginFrame): string {
  return connect ? `Sign in once to connect ${connect.name}` : 'Sign in';
}

/** Says the same whether or not there is an account for it. */
function purposeOf({ connect, clientName }: LoginFrame): Html {
  if (!connect) return html`<p>to continue to <strong>${clientName}</strong></p>`;
  const { name, account } = connect;
  const which = account === '' ? html`your ${name} account` : html`your ${name} account <strong>${account}</strong>`;
  return html`<p>Show that you have an account here, as you did before. Then you can sign in to <strong>${clientName}</strong> with ${which}.</p>`;
}

/** The external providers, as buttons of one form; nothing of theirs is loaded. */
export function providerButtons(frame: LoginFrame): Html | undefined {
  const { providers = [], connect } = frame;
  if (providers.length === 0 || connect) return undefined;
  return html`<p class="or">or</p>
${step(frame, 'provider')}<div class="buttons">
${providers.map(({ id, name }) => html`<button type="submit" name="idpId" value="${id}" class="quiet provider"><span class="initial" aria-hidden="true">${initialOf(name)}</span> <span>Continue with ${name}</span></button>\n`)}</div>
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
${field({ name: 'loginName', label: frame.nameLabel, autocomplete: nameTokens(frame), value: loginName, problem, autofocus: loginName === '' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', problem, autofocus: loginName !== '' })}
<button type="submit">Sign in</button>
${codeButtons(frame, loginName)}
<p class="hint" id="no-password">${frame.offersCodes || frame.offersTexts ? NO_PASSWORD : NO_PASSWORD_NO_CODE}</p>
</form>
${passkeyButton(frame)}
${providerButtons(frame)}
<p class="links">${forgot(frame, loginName)}</p>
${back(frame)}`;
  return { title, body, ...scriptOf(frame) };
}

const NO_PASSWORD = 'No password yet? Sign in with a code instead, or select “Forgot password?” to choose a password.';
const NO_PASSWORD_NO_CODE = 'No password yet? Select “Forgot password?” to choose one.';

/** Send the form of the password without one, to ask for a code. Who has typed a number is offered a text message first. */
function codeButtons({ offersCodes, offersTexts = false }: LoginFrame, loginName: string): Html | undefined {
  const mail = offersCodes ? [['code', 'Email me a code']] : [];
  const texts = offersTexts ? [['text', 'Text me a code']] : [];
  const ways = typedNumber(loginName) === undefined ? [...mail, ...texts] : [...texts, ...mail];
  if (ways.length === 0) return undefined;
  return html`<p class="or">or</p>
<div class="buttons">
${ways.map(([way, label]) => html`<button type="submit" name="way" value="${way}" class="quiet" formnovalidate aria-describedby="no-password">${label}</button>\n`)}</div>`;
}

/** The form for the code from the mail, the same for everybody, whether or not a mail was sent. */
export function mailCodeForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  const body = html`<h1>Check your email</h1>
<p>If <strong>${loginName}</strong> can sign in with a code, we have emailed one. It has 8 digits and works for 10 minutes, only in this browser.</p>
${alert(problem)}
${step(frame, 'mail-code')}
${hidden({ loginName })}${field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">Sign in</button>
</form>
<div class="buttons">
${step(frame, 'password')}
${hidden({ loginName, way: 'code' })}<button type="submit" class="quiet">Email me a new code</button>
</form>
${step(frame, 'password')}
${hidden({ loginName })}<button type="submit" class="quiet">Use your password</button>
</form>
</div>
<p class="hint">No email after a few minutes? Check your spam folder and the spelling of your login name. There are only a few codes a day. If you have a password, use it; otherwise ask your administrator.</p>
${back(frame)}`;
  return { title: titled('Check your email', problem), body };
}

/** The form for the code from the text message, the same for everybody, whether or not one was sent. */
export function textCodeForm(frame: LoginFrame, loginName: string, problem?: Problem): HtmlPage {
  const body = html`<h1>Check your phone</h1>
<p>If <strong>${loginName}</strong> can sign in with a code by text message, we have sent one. It has 8 digits and works for 10 minutes, only in this browser.</p>
${alert(problem)}
${step(frame, 'text-code')}
${hidden({ loginName })}${field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">Sign in</button>
</form>
<div class="buttons">
${step(frame, 'password')}
${hidden({ loginName, way: 'text' })}<button type="submit" class="quiet">Text me a new code</button>
</form>
${step(frame, 'password')}
${hidden({ loginName })}<button type="submit" class="quiet">Sign in in another way</button>
</form>
</div>
<p class="hint">No message after a few minutes? Check the number, with its country code (+41 …). There are only a few codes an hour. Otherwise ask your administrator.</p>
${back(frame)}`;
  return { title: titled('Check your phone', problem), body };
}

/** What one step passes to the next: the login name, and the proof of the checks passed so far. */
export interface Proven {
  proof: string;
  loginName: string;
}

/** Why a new password is required or offered. */
export type ChangeReason = Exclude<ProofStep, 'code' | 'setup' | 'codes-left' | 'resume' | 'unlinked'>;

const REASONS: Record<ChangeReason, { title: string; why: string }> = {
  required: {
    title: 'Choose a new password',
    why: 'Before you continue, choose a password that only you know.',
  },
  expired: {
    title: 'Your password has expired',
    why: 'It is older than your organization allows. Choose a new one to continue.',
  },
  expiring: { title: 'Choose a new password', why: 'It replaces your current password.' },
};

/** @param rules for the new password */
export function changeForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  { reason, rules }: { reason: ChangeReason; rules: string },
  problem?: Problem,
): HtmlPage {
  const { title, why } = REASONS[reason];
  const body = html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
${step(frame, 'change', proof)}
<input type="text" name="username" autocomplete="username" value="${loginName}" readonly hidden>
${newPasswordFields(rules, problem)}
<button type="submit">Set password and continue</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** @param days whole days left */
export function expiringPage(frame: LoginFrame, { proof }: Proven, days: number): HtmlPage {
  const title = `Your password expires ${days === 0 ? 'today' : days === 1 ? 'tomorrow' : `in ${days} days`}`;
  const body = html`<h1>${title}</h1>
<p id="why">Once it has expired, you must choose a new one to sign in. You can also change it now.</p>
<div class="buttons">
${step(frame, 'choose', proof)}
<button type="submit" aria-describedby="why" autofocus>Change now</button>
</form>
${step(frame, 'later', proof)}
<button type="submit" class="quiet">Not now</button>
</form>
</div>`;
  return { title, body };
}

/** The page after a sign-in that was to link an account, and did not. @param provider its name */
export function unlinkedPage(frame: LoginFrame, { proof }: Proven, provider: string): HtmlPage {
  const title = `${provider} is not connected`;
  const message = `You are signed in, but your organization does not let you connect this ${provider} account, or somebody else has connected it. Your administrator can help.`;
  const go = html`${step(frame, 'later', proof)}
<button type="submit">Continue</button>
</form>`;
  return problemPage(title, message, go);
}

const STOPS: Record<string, { title: string; message: string }> = {
  'SESSION-USER-LOCKED': {
    title: 'Your account is locked',
    message: 'Please ask your administrator to unlock it.',
  },
  'SESSION-USER-INACTIVE': {
    title: 'Your account is deactivated',
    message: 'Please ask your administrator to reactivate it.',
  },
  'SESSION-USER-INITIAL': {
    title: 'Your account is not ready yet',
    message: 'Please open the link in the email that we sent you and choose your password.',
  },
};

/** The page for a user who may not sign in, shown only after the right password; undefined for any other error. */
export function stopPage(frame: LoginFrame, errorId: string | undefined): HtmlPage | undefined {
  const stop = ownValue(STOPS, errorId);
  if (!stop) return undefined;
  return problemPage(stop.title, stop.message, html`${differentUser(frame)}\n${back(frame)}`);
}

/**
 * The page after too many failed attempts, the same for right and wrong passwords and for known and unknown users.
 * @param minutes until the next attempt
 */
export function pausedPage(frame: LoginFrame, minutes: number): HtmlPage {
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const message = `There were too many failed attempts to sign in with this login name. Please try again in ${wait}.`;
  const links = html`<p class="links">${forgot(frame)}</p>\n${differentUser(frame)}\n${back(frame)}`;
  return problemPage('Please wait before you try again', message, links);
}

/**
 * The page for a user who is signed in, where an application may use that only if the user agrees.
 * @param loginName of the user
 */
export function continuePage(frame: LoginFrame, loginName: string): HtmlPage {
  const title = `Continue to ${frame.clientName}?`;
  const body = html`<h1>${title}</h1>
<p id="why">You are signed in as <strong>${loginName}</strong>. Continue only if you started this yourself.</p>
<div class="buttons">
${step(frame, 'continue')}
<button type="submit" aria-describedby="why">Continue</button>
</form>
${step(frame, 'different')}
<button type="submit" class="quiet">Use another account</button>
</form>
</div>
${back(frame)}`;
  return { title, body };
}

/**
 * The two fields of a new password.
 * @param rules for it, shown before the user types
 */
export function newPasswordFields(rules: string, problem: Problem | undefined): Html {
  const both = { type: 'password', autocomplete: 'new-password', problem } as const;
  return html`${field({ ...both, name: 'password', label: 'New password', hint: rules, autofocus: true })}
${field({ ...both, name: 'repeated', label: 'Repeat new password' })}`;
}

/** What is wrong with the repetition of a new password; undefined when it is the same. */
export function repetitionProblem(password: string, repeated: string): Problem | undefined {
  return password === repeated
    ? undefined
    : { message: 'The passwords do not match. Please enter the same one twice.' };
}

/**
 * The label of the field for the name, by the names that the organization allows; without an organization, by all.
 * @param names `userName`, `loginName`, `email` @param byPhone whether a phone number is a name too
 */
export function nameLabel(names: readonly string[], byPhone = false): string {
  const isEmail = names.includes('email');
  const parts = [
    ...(isEmail && names.length === 1 ? [] : ['login name']),
    ...(isEmail ? ['email'] : []),
    ...(byPhone ? ['phone number'] : []),
  ];
  const label = new Intl.ListFormat('en', { type: 'disjunction' }).format(parts);
  return label.charAt(0).toUpperCase() + label.slice(1);
}

function differentUser(frame: LoginFrame): Html {
  return html`<p class="links"><a href="${pathTo(frame)}">Sign in as a different user</a></p>`;
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
  return html`<a href="${up}../forgot?${String(query)}">Forgot password?</a>`;
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
<button type="submit" class="plain">Back to ${frame.clientName}</button>
</form>
</div>`;
}
