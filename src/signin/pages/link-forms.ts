/**
 * The pages that the links in emails open, and the page that requests such an email. They work without JavaScript; a
 * GET shows a form and changes nothing. Forms are sent to a relative address, as BASE_URL may have a path.
 */
import type { LengthPolicy } from '../../contract/policies.ts';
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type HtmlPage, messagePage, problemPage } from '../../platform/html/layout.ts';
import { type MessageKey, say } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { LinkOffer } from '../passkeys/link.ts';
import { type NameKinds, newPasswordFields } from './forms.ts';

/** The parameters of the link, which the form sends too. */
export interface Link {
  userId: string;
  code: string;
}

export function verifyForm(link: Link): HtmlPage {
  return {
    title: say('verify.email'),
    body: html`<h1>${say('verify.email')}</h1>
<p id="why">${say('verify.emailWhy')}</p>
<form method="post" action="verify">
${hidden({ ...link })}
<button type="submit" aria-describedby="why" autofocus>${say('verify.confirmEmail')}</button>
</form>`,
  };
}

/** `init` sets the first password; `reset` replaces a forgotten one. */
export type PasswordForm = 'init' | 'reset';

const WORDS: Record<PasswordForm, readonly [title: MessageKey, why: MessageKey]> = {
  init: ['verify.firstPassword', 'verify.firstPasswordWhy'],
  reset: ['verify.resetPassword', 'verify.resetPasswordWhy'],
};

/** @param rules for the new password */
export function passwordForm(action: PasswordForm, link: Link, rules: LengthPolicy, problem?: Problem): HtmlPage {
  const [title, why] = WORDS[action].map((key) => say(key)) as [string, string];
  return {
    title: titled(title, problem),
    body: html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ ...link })}${newPasswordFields(rules, problem)}
<button type="submit">${say('common.setPassword')}</button>
</form>`,
    reopenedBy: { ...link },
  };
}

/**
 * Instead of a form whose link is no longer good: one button asks for a new link. The code of the old one shows that
 * whoever asks got it by email.
 * @param action the form that the link belonged to
 */
export function expiredPage(action: 'verify' | PasswordForm, link: Link): HtmlPage {
  const more = html`<form method="post" action="new-link">
${hidden({ ...link, action })}
<button type="submit">${say('verify.sendNew')}</button>
</form>`;
  return { ...problemPage(say('verify.expired'), say('verify.expiredWhy'), more), reopenedBy: { ...link } };
}

/** @param script the address of the script that asks an authenticator */
export function passkeyForm(
  link: Link,
  { options, setsPassword }: LinkOffer,
  script: string,
  problem?: Problem,
): HtmlPage {
  const title = say('verify.addPasskey');
  const password = setsPassword
    ? html`<p class="links"><a href="init?${new URLSearchParams({ ...link }).toString()}">${say('verify.passwordInstead')}</a></p>`
    : html`<p class="small" data-without><a href="forgot">${say('verify.passwordInstead')}</a></p>`;
  const body = html`<h1>${title}</h1>
<p id="why">${say('verify.addPasskeyWhy')}</p>
${alert(problem)}
<form method="post" action="passkey" data-passkey="${options}" data-new hidden>
${hidden({ ...link, answer: '' })}<button type="submit" aria-describedby="why passkey-failed" autofocus>${title}</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>${say('verify.passkeyNotAdded')}</p>
</form>
<p class="small" data-without>${say('verify.passkeyWithout')}</p>
${password}`;
  return { title: titled(title, problem), body, scripts: [script], reopenedBy: { ...link } };
}

/** Instead of the form of a link that is no longer good, or not enough for its user. */
export function passkeyLinkGonePage(): HtmlPage {
  const more = html`<p class="links"><a href="forgot">${say('common.forgotPassword')}</a></p>`;
  return problemPage(say('verify.linkGone'), say('verify.linkGoneWhy'), more);
}

/** Shown for every user, known or not. */
export function newLinkPage(): HtmlPage {
  const more = html`<p>${say('verify.noNewLink')}</p>`;
  return { ...messagePage(say('common.checkEmail'), say('verify.newLink'), more), reopenedBy: 'nothing' };
}

/** The login that led to the page; both values are empty without one. */
export interface ForgotOrigin {
  /** Id of the login to return to. */
  login: string;
  /** The organization that the application named. */
  organization: string;
}

export interface ForgotNames {
  names: NameKinds;
  loginName: string;
}

export function forgotForm(origin: ForgotOrigin, { names, loginName }: ForgotNames, problem?: Problem): HtmlPage {
  const { login, organization } = origin;
  const name = { name: 'loginName', label: say('login.name', { names }), autocomplete: 'username' } as const;
  const title = say('common.forgotPassword');
  return {
    title: titled(title, problem),
    body: html`<h1>${title}</h1>
<p>${say('verify.forgotWhy', { names })}</p>
${alert(problem)}
<form method="post" action="forgot">
${hidden({ login, organization })}${field({ ...name, value: loginName, problem, autofocus: true })}
<button type="submit">${say('verify.sendLink')}</button>
</form>
${backToLogin(login)}`,
    ...(problem ? { reopenedBy: parametersOf(origin) } : {}),
  };
}

/** Shown for every login name, known or not. */
export function forgotDonePage(origin: ForgotOrigin): HtmlPage {
  const more = html`<p>${say('verify.noLink')}</p>
${backToLogin(origin.login)}`;
  const page = messagePage(say('common.checkEmail'), say('verify.linkSent'), more);
  return { ...page, reopenedBy: parametersOf(origin) };
}

function parametersOf({ login, organization }: ForgotOrigin): Record<string, string> {
  return { ...(login ? { login } : {}), ...(organization ? { organization } : {}) };
}

function backToLogin(login: string): Html | undefined {
  return login
    ? html`<p class="links"><a href="login/${encodeURIComponent(login)}">${say('verify.backToSignIn')}</a></p>`
    : undefined;
}
