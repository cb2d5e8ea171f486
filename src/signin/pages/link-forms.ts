/**
 * The pages that the links in emails open, and the page that requests such an email. They work without JavaScript; a
 * GET shows a form and changes nothing. Forms are sent to a relative address, as BASE_URL may have a path.
 */
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { type HtmlPage, messagePage, problemPage } from '../../platform/html/layout.ts';
import type { LinkOffer } from '../passkeys/link.ts';
import { newPasswordFields } from './forms.ts';

/** The parameters of the link, which the form sends too. */
export interface Link {
  userId: string;
  code: string;
}

export function verifyForm(link: Link): HtmlPage {
  return {
    title: 'Confirm your email address',
    body: html`<h1>Confirm your email address</h1>
<p id="why">Select the button to confirm that this address is yours.</p>
<form method="post" action="verify">
${hidden({ ...link })}
<button type="submit" aria-describedby="why" autofocus>Confirm email address</button>
</form>`,
  };
}

/** `init` sets the first password; `reset` replaces a forgotten one. */
export type PasswordForm = 'init' | 'reset';

const WORDS: Record<PasswordForm, { title: string; why: string }> = {
  init: {
    title: 'Choose your password',
    why: 'This confirms your email address and activates your account.',
  },
  reset: {
    title: 'Choose a new password',
    why: 'It replaces your old password. You will be signed out on all your devices.',
  },
};

/** @param rules for the new password */
export function passwordForm(action: PasswordForm, link: Link, rules: string, problem?: Problem): HtmlPage {
  const { title, why } = WORDS[action];
  return {
    title: titled(title, problem),
    body: html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ ...link })}${newPasswordFields(rules, problem)}
<button type="submit">Set password</button>
</form>`,
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
<button type="submit">Send a new one</button>
</form>`;
  return problemPage('This link has expired', 'It is too old, or it has already been used.', more);
}

/** @param script the address of the script that asks an authenticator */
export function passkeyForm(
  link: Link,
  { options, setsPassword }: LinkOffer,
  script: string,
  problem?: Problem,
): HtmlPage {
  const title = 'Add a passkey';
  const password = setsPassword
    ? html`<p class="links"><a href="init?${new URLSearchParams({ ...link }).toString()}">Choose a password instead</a></p>`
    : html`<p class="small" data-without><a href="forgot">Choose a password instead</a></p>`;
  const body = html`<h1>${title}</h1>
<p id="why">With a passkey you sign in with your fingerprint, your face or the lock of your device, without a password.</p>
${alert(problem)}
<form method="post" action="passkey" data-passkey="${options}" data-new hidden>
${hidden({ ...link, answer: '' })}<button type="submit" aria-describedby="why passkey-failed" autofocus>Add a passkey</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>No passkey was added. Please try again.</p>
</form>
<p class="small" data-without>This browser cannot add a passkey, or runs no scripts. Open the link in another browser, or choose a password.</p>
${password}`;
  return { title: titled(title, problem), body, scripts: [script] };
}

/** Instead of the form of a link that is no longer good, or not enough for its user. */
export function passkeyLinkGonePage(): HtmlPage {
  const more = html`<p class="links"><a href="forgot">Forgot password?</a></p>`;
  const message =
    'It is too old, has already been used, or you have to sign in first. Sign in in the application, or ask your administrator for a new one.';
  return problemPage('This link cannot be used', message, more);
}

/** Shown for every user, known or not. */
export function newLinkPage(): HtmlPage {
  const more = html`<p>No email after a few minutes? Check your spam folder, open the link of the latest email that you have, or ask your administrator.</p>`;
  return messagePage(
    'Check your email',
    'If there is something left to do, an email with a new link is on its way.',
    more,
  );
}

/** The login that led to the page; both values are empty without one. */
export interface ForgotOrigin {
  /** Id of the login to return to. */
  login: string;
  /** The organization that the application named. */
  organization: string;
}

/** `label`: see `nameLabel`. */
export interface ForgotNames {
  label: string;
  loginName: string;
}

export function forgotForm(
  { login, organization }: ForgotOrigin,
  { label, loginName }: ForgotNames,
  problem?: Problem,
): HtmlPage {
  const names = { name: 'loginName', label, autocomplete: 'username' } as const;
  return {
    title: titled('Forgot password?', problem),
    body: html`<h1>Forgot password?</h1>
<p>Enter your ${label.toLowerCase()}. We will email you a link to choose a new password.</p>
${alert(problem)}
<form method="post" action="forgot">
${hidden({ login, organization })}${field({ ...names, value: loginName, problem, autofocus: true })}
<button type="submit">Send link</button>
</form>
${backToLogin(login)}`,
  };
}

/** Shown for every login name, known or not. */
export function forgotDonePage(login: string): HtmlPage {
  const more = html`<p>No email after a few minutes? Check your spam folder and the spelling of your login name. There are only a few emails a day; if you have an earlier one, its link leads to a new one. Otherwise ask your administrator.</p>
${backToLogin(login)}`;
  return messagePage(
    'Check your email',
    'If an account with that login name exists, an email with a link is on its way.',
    more,
  );
}

function backToLogin(login: string): Html | undefined {
  return login
    ? html`<p class="links"><a href="login/${encodeURIComponent(login)}">Back to sign-in</a></p>`
    : undefined;
}
