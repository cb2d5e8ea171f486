/**
 * The pages of a login about the second factor: one form for each kind, the choice of another kind, the page for somebody
 * who has none left, and the form to set up an authenticator app, which the organization requires. They work without
 * JavaScript.
 */
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { type HtmlPage, problemPage } from '../../platform/html/layout.ts';
import { qrCode } from '../../platform/html/qr.ts';
import type { FactorKind } from '../factors/second-factor.ts';
import { back, type LoginFrame, type Proven, step } from './forms.ts';

interface Texts {
  title: string;
  /** What to enter, before and after the login name. */
  enter: readonly [before: string, after: string];
  label: string;
  autocomplete: 'off' | 'one-time-code';
  /** The button that leads to this form. */
  button: string;
}

const TEXTS: Record<FactorKind, Texts> = {
  totp: {
    title: 'Enter your code',
    enter: ['Enter the code that your authenticator app shows for ', '.'],
    label: 'Code',
    autocomplete: 'one-time-code',
    button: 'Use your authenticator app',
  },
  recoveryCode: {
    title: 'Enter a recovery code',
    enter: ['Enter one of the recovery codes that you have kept for ', '. It works once.'],
    label: 'Recovery code',
    autocomplete: 'off',
    button: 'Use a recovery code',
  },
  otpEmail: {
    title: 'Check your email',
    enter: ['Enter the code that we have emailed to the verified address of ', '.'],
    label: 'Code',
    autocomplete: 'one-time-code',
    button: 'Email me a code',
  },
  otpSms: {
    title: 'Check your phone',
    enter: ['Enter the code that we have sent by text message to the verified number of ', '.'],
    label: 'Code',
    autocomplete: 'one-time-code',
    button: 'Text me a code',
  },
  webAuthN: {
    title: 'Use your security key',
    enter: ['Use a security key of ', '.'],
    label: 'Security key',
    autocomplete: 'off',
    button: 'Use your security key',
  },
};

/** The kind that is asked for, and what else the user may choose; the same kind: another code of it. */
export interface Choice {
  kind: FactorKind;
  others: readonly FactorKind[];
}

/** The form for a second factor. */
export function codeForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  { kind, others }: Choice,
  problem?: Problem,
): HtmlPage {
  const { title, enter, label, autocomplete } = TEXTS[kind];
  const body = html`<h1>${title}</h1>
<p>${enter[0]}<strong>${loginName}</strong>${enter[1]}</p>
${alert(problem)}
${step(frame, 'code', proof)}
${hidden({ factor: kind })}${field({ name: 'code', label, autocomplete, problem, autofocus: true })}
<button type="submit">Continue</button>
</form>
${otherWays(frame, proof, { kind, others })}
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** The form for a security key, whose question the script of the page asks. */
export function keyForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  { others, options, script }: Choice & { options: string; script: string },
  problem?: Problem,
): HtmlPage {
  const { title, enter, button } = TEXTS.webAuthN;
  const data = html` data-passkey="${options}" hidden`;
  const body = html`<h1>${title}</h1>
<p>${enter[0]}<strong>${loginName}</strong>${enter[1]}</p>
${alert(problem)}
${step(frame, 'code', proof, data)}
${hidden({ factor: 'webAuthN', answer: '' })}<button type="submit" aria-describedby="passkey-failed" autofocus>${button}</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>No security key was used. Please try again.</p>
</form>
<p class="small" data-without>This browser cannot use a security key, or runs no scripts. Sign in with another browser.</p>
${otherWays(frame, proof, { kind: 'webAuthN', others })}
${back(frame)}`;
  return { title: titled(title, problem), body, scripts: [script] };
}

function otherWays(frame: LoginFrame, proof: string, { kind: shown, others }: Choice): Html | undefined {
  if (others.length === 0) return undefined;
  const buttons = others.map(
    (kind) =>
      html`<button type="submit" name="factor" value="${kind}" class="quiet">${kind === shown ? TEXTS[kind].button.replace('a code', 'a new code') : TEXTS[kind].button}</button>\n`,
  );
  return html`<p class="or">or</p>
${step(frame, 'other-factor', proof)}<div class="buttons">
${buttons}</div>
</form>`;
}

/** The page for a user whose second factor cannot be asked for here, and who has nothing in its place. */
export function noFactorPage(frame: LoginFrame): HtmlPage {
  const title = 'Your administrator can help';
  const message =
    'Your account needs a second factor, and yours cannot be used now. Please ask your administrator to reset it.';
  return problemPage(title, message, back(frame));
}

/** The page after a recovery code was used. @param left how many there still are */
export function codesLeftPage(frame: LoginFrame, { proof }: Proven, left: number): HtmlPage {
  const title = left === 1 ? '1 recovery code left' : `${left} recovery codes left`;
  const few =
    left === 0
      ? 'That was your last recovery code. Make new ones on the page of your account, or add another second factor there.'
      : `You have ${left} left. The one that you have used does not work again. You can make new ones on the page of your account.`;
  const body = html`<h1>${title}</h1>
<p id="why">${few}</p>
${step(frame, 'later', proof)}
<button type="submit" aria-describedby="why" autofocus>Continue</button>
</form>`;
  return { title, body };
}

/** What the authenticator app needs. */
export interface FactorKey {
  /** In base32. */
  secret: string;
  /** The secret as an `otpauth` address. */
  address: string;
}

/** The page on which a user sets up the second factor that their organization requires. */
export function factorForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  key: FactorKey,
  problem?: Problem,
): HtmlPage {
  const title = 'Set up a second factor';
  const body = html`<h1>${title}</h1>
<p>Your organization requires a code from an authenticator app whenever you sign in as <strong>${loginName}</strong>.</p>
${alert(problem)}
${appSteps(key)}
${step(frame, 'setup', proof)}
${field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">Continue</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** What to do with an authenticator app, before its first code is entered. */
export function appSteps({ secret, address }: FactorKey): Html {
  return html`<ol class="steps">
<li>Install an authenticator app on your phone, if you have none.</li>
<li>Scan this picture with the app:
${qrCode(address, 'QR code with the key for your authenticator app')}
<p class="hint">On this phone: <a href="${address}">open the key in the app</a>. Or type the key:</p>
<p class="shown"><code class="key">${grouped(secret)}</code></p>
<p class="hint">Show it to nobody.</p></li>
<li>Enter the 6-digit code that the app shows.</li>
</ol>`;
}

/** In groups of four, for people who type it; apps ignore the spaces. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, '$& ');
}
