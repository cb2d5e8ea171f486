/** The pages of a log-in. They work without JavaScript; all of their forms go to the address of the log-in itself. */

import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { alert, field, hidden, newPasswordFields, type Problem, problemPage, titled } from './parts.ts';

/** What is still asked for: the code of the second factor, or a new password, and why. */
export type ProofStep = 'code' | 'required' | 'expired' | 'expiring';

/** What every page of one log-in has in common. */
export interface LoginFrame {
  uid: string;
  token: string;
  /** Name of the application that asks. */
  clientName: string;
}

export function loginForm(frame: LoginFrame, loginName: string, problem?: Problem): Page {
  const title = titled('Log in', problem);
  const body = html`<h1>Log in</h1>
<p>to go on to <strong>${frame.clientName}</strong></p>
${alert(problem)}
${step(frame, 'password')}
${field({ name: 'loginName', label: 'Login name', type: 'text', autocomplete: 'username', value: loginName, problem, autofocus: loginName === '' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', problem, autofocus: loginName !== '' })}
<button type="submit">Log in</button>
</form>
<p class="links"><a href="../forgot?login=${encodeURIComponent(frame.uid)}">Forgot your password?</a></p>
${back(frame)}`;
  return { title, body };
}

/** What goes from step to step: who it is, and the proof of what was shown. */
export interface Proven {
  proof: string;
  loginName: string;
}

export function codeForm(frame: LoginFrame, { proof, loginName }: Proven, problem?: Problem): Page {
  const body = html`<h1>Enter your code</h1>
<p>Your account <strong>${loginName}</strong> asks for a second step: the 6 digits that your authenticator app shows now.</p>
${alert(problem)}
${step(frame, 'code', proof)}
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">Go on</button>
</form>
${back(frame)}`;
  return { title: titled('Enter your code', problem), body };
}

/** Why a new password is asked for. */
export type ChangeReason = Exclude<ProofStep, 'code'>;

const REASONS: Record<ChangeReason, { title: string; why: string }> = {
  required: {
    title: 'Choose a new password',
    why: 'Before you go on, your account needs a password that only you know.',
  },
  expired: {
    title: 'Your password has expired',
    why: 'It is older than your organization allows. Choose a new one to go on.',
  },
  expiring: { title: 'Choose a new password', why: 'It takes the place of the one you have now.' },
};

export function changeForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  reason: ChangeReason,
  problem?: Problem,
): Page {
  const { title, why } = REASONS[reason];
  const body = html`<h1>${title}</h1>
<p>${why}</p>
${alert(problem)}
${step(frame, 'change', proof)}
<input type="text" name="username" autocomplete="username" value="${loginName}" readonly hidden>
${newPasswordFields(problem)}
<button type="submit">Set password and go on</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** @param days whole days that are left */
export function expiringPage(frame: LoginFrame, { proof }: Proven, days: number): Page {
  const title = `Your password expires ${days === 0 ? 'today' : days === 1 ? 'tomorrow' : `in ${days} days`}`;
  const body = html`<h1>${title}</h1>
<p id="why">After that you have to choose a new one before you can go on. You can do that now, too.</p>
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

const STOPS: Record<string, { title: string; message: string }> = {
  'SESSION-USER-LOCKED': {
    title: 'Your account is locked',
    message:
      'This happens after too many wrong passwords, or when somebody who runs your account locks it. Please ask them to unlock it.',
  },
  'SESSION-USER-INACTIVE': {
    title: 'Your account is deactivated',
    message: 'Please ask the people who run your account to activate it again.',
  },
  'SESSION-USER-INITIAL': {
    title: 'Your account is not ready yet',
    message: 'Please open the link in the mail that we sent you, and choose your password there.',
  },
};

/** The page of a user who may not log in, told after the right password only; undefined for any other error. */
export function stopPage(frame: LoginFrame, errorId: string): Page | undefined {
  const stop = STOPS[errorId];
  if (!stop) return undefined;
  const other = html`<p class="links"><a href="${frame.uid}">Log in as somebody else</a></p>\n${back(frame)}`;
  return problemPage(stop.title, stop.message, other);
}

/** The beginning of a form that leads to a step. */
function step(frame: LoginFrame, name: string, proof?: string): Html {
  const values = { step: name, token: frame.token, ...(proof ? { proof } : {}) };
  return html`<form method="post" action="${encodeURIComponent(frame.uid)}">
${hidden(values)}`;
}

function back(frame: LoginFrame): Html {
  return html`<div class="aside">
${step(frame, 'cancel')}
<button type="submit" class="plain">Back to ${frame.clientName}</button>
</form>
</div>`;
}
