/**
 * The pages behind the links of mails, and the one that asks for such a mail. They work without JavaScript; a GET shows a
 * form and changes nothing. Forms go to a relative address, as BASE_URL may have a path.
 */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { alert, field, hidden, messagePage, newPasswordFields, type Problem, titled } from './parts.ts';

/** What the link brings, and what the form sends on. */
export interface Link {
  userId: string;
  code: string;
}

export function verifyForm(link: Link, problem?: Problem): Page {
  return {
    title: titled('Confirm your email address', problem),
    body: html`<h1>Confirm your email address</h1>
<p id="why">Press the button to confirm that the mail reached you.</p>
${alert(problem)}
<form method="post" action="verify">
${hidden({ ...link })}
<button type="submit" aria-describedby="why" autofocus>Confirm email address</button>
</form>`,
  };
}

/** The first password, or another one for somebody who has forgotten it. */
export type PasswordForm = 'init' | 'reset';

const WORDS: Record<PasswordForm, { title: string; why: string }> = {
  init: {
    title: 'Choose your password',
    why: 'This confirms your email address and makes your account ready to use.',
  },
  reset: {
    title: 'Choose a new password',
    why: 'It takes the place of the old one. Wherever you are logged in, you will have to log in again.',
  },
};

export function passwordForm(action: PasswordForm, link: Link, problem?: Problem): Page {
  const { title, why } = WORDS[action];
  return {
    title: titled(title, problem),
    body: html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ ...link })}${newPasswordFields(problem)}
<button type="submit">Set password</button>
</form>`,
  };
}

/** @param login the log-in to go back to; empty when there is none */
export function forgotForm(login: string, loginName: string, problem?: Problem): Page {
  const names = { name: 'loginName', label: 'Login name', type: 'text', autocomplete: 'username' } as const;
  return {
    title: titled('Forgot your password?', problem),
    body: html`<h1>Forgot your password?</h1>
<p>Tell us your login name, and we send a link to your email address with which you choose a new password.</p>
${alert(problem)}
<form method="post" action="forgot">
${hidden({ login })}${field({ ...names, value: loginName, problem, autofocus: true })}
<button type="submit">Send the link</button>
</form>
${backToLogin(login)}`,
  };
}

/** The same for every login name. */
export function forgotDonePage(login: string): Page {
  const more = html`<p>Nothing there after a few minutes? Look into the folder for unwanted mail, and check how you wrote the login name. Otherwise the people who run your account can help.</p>
${backToLogin(login)}`;
  return messagePage(
    'Look into your mail',
    'If there is an account with that login name, a mail with a link is on its way to it.',
    more,
  );
}

function backToLogin(login: string): Html | undefined {
  return login ? html`<p class="links"><a href="login/${encodeURIComponent(login)}">Back to log-in</a></p>` : undefined;
}
