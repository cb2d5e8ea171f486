/**
 * The pages of a login about the second factor: one form for each kind, the choice of another kind, the page for somebody
 * who has none left, and the form to set up an authenticator app, which the organization requires. They work without
 * JavaScript.
 */
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type HtmlPage, problemPage } from '../../platform/html/layout.ts';
import { qrCode } from '../../platform/html/qr.ts';
import { type MessageKey, say, sayHtml } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { FactorKind } from '../factors/second-factor.ts';
import { back, type LoginFrame, type Proven, step } from './forms.ts';

interface Texts {
  title: MessageKey;
  /** What to enter, with the login name. */
  enter: MessageKey;
  label: MessageKey;
  autocomplete: 'off' | 'one-time-code';
  /** The button that leads to this form, and the one in it that sends another code. */
  button: MessageKey;
  another?: MessageKey;
}

const TEXTS: Record<FactorKind, Texts> = {
  totp: {
    title: 'factor.enterCode',
    enter: 'factor.appCodeOf',
    label: 'common.code',
    autocomplete: 'one-time-code',
    button: 'factor.useApp',
  },
  recoveryCode: {
    title: 'factor.enterRecoveryCode',
    enter: 'factor.recoveryCodeOf',
    label: 'factor.recoveryCode',
    autocomplete: 'off',
    button: 'factor.useRecoveryCode',
  },
  otpEmail: {
    title: 'common.checkEmail',
    enter: 'factor.mailedCodeOf',
    label: 'common.code',
    autocomplete: 'one-time-code',
    button: 'common.emailCode',
    another: 'common.emailNewCode',
  },
  otpSms: {
    title: 'common.checkPhone',
    enter: 'factor.textedCodeOf',
    label: 'common.code',
    autocomplete: 'one-time-code',
    button: 'common.textCode',
    another: 'common.textNewCode',
  },
  webAuthN: {
    title: 'factor.useKey',
    enter: 'factor.keyOf',
    label: 'factor.useKey',
    autocomplete: 'off',
    button: 'factor.useKey',
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
  const { enter, label, autocomplete } = TEXTS[kind];
  const title = say(TEXTS[kind].title);
  const body = html`<h1>${title}</h1>
<p>${sayHtml(enter, { loginName })}</p>
${alert(problem)}
${step(frame, 'code', proof)}
${hidden({ factor: kind })}${field({ name: 'code', label: say(label), autocomplete, problem, autofocus: true })}
<button type="submit">${say('common.continue')}</button>
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
  const { enter, button } = TEXTS.webAuthN;
  const title = say(TEXTS.webAuthN.title);
  const data = html` data-passkey="${options}" hidden`;
  const body = html`<h1>${title}</h1>
<p>${sayHtml(enter, { loginName })}</p>
${alert(problem)}
${step(frame, 'code', proof, data)}
${hidden({ factor: 'webAuthN', answer: '' })}<button type="submit" aria-describedby="passkey-failed" autofocus>${say(button)}</button>
<p class="hint" id="passkey-failed" role="status" data-failed hidden>${say('factor.keyNotUsed')}</p>
</form>
<p class="small" data-without>${say('factor.keyWithout')}</p>
${otherWays(frame, proof, { kind: 'webAuthN', others })}
${back(frame)}`;
  return { title: titled(title, problem), body, scripts: [script] };
}

function otherWays(frame: LoginFrame, proof: string, { kind: shown, others }: Choice): Html | undefined {
  if (others.length === 0) return undefined;
  const buttons = others.map((kind) => {
    const { button, another = button } = TEXTS[kind];
    const label = say(kind === shown ? another : button);
    return html`<button type="submit" name="factor" value="${kind}" class="quiet">${label}</button>\n`;
  });
  return html`<p class="or">${say('common.or')}</p>
${step(frame, 'other-factor', proof)}<div class="buttons">
${buttons}</div>
</form>`;
}

/** The page for a user whose second factor cannot be asked for here, and who has nothing in its place. */
export function noFactorPage(frame: LoginFrame): HtmlPage {
  return problemPage(say('factor.none'), say('factor.noneWhy'), back(frame));
}

/** The page after a recovery code was used. @param left how many there still are */
export function codesLeftPage(frame: LoginFrame, { proof }: Proven, left: number): HtmlPage {
  const title = say('factor.codesLeft', { left });
  const body = html`<h1>${title}</h1>
<p id="why">${say('factor.codesLeftWhy', { left })}</p>
${step(frame, 'later', proof)}
<button type="submit" aria-describedby="why" autofocus>${say('common.continue')}</button>
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
  const title = say('factor.setUp');
  const body = html`<h1>${title}</h1>
<p>${sayHtml('factor.setUpWhy', { loginName })}</p>
${alert(problem)}
${appSteps(key)}
${step(frame, 'setup', proof)}
${field({ name: 'code', label: say('common.code'), autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">${say('common.continue')}</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** What to do with an authenticator app, before its first code is entered. */
export function appSteps({ secret, address }: FactorKey): Html {
  return html`<ol class="steps">
<li>${say('factor.installApp')}</li>
<li>${say('factor.scan')}
${qrCode(address, say('factor.qrCode'))}
<p class="hint">${sayHtml('factor.openInApp', { link: (inside) => html`<a href="${address}">${inside}</a>` })}</p>
<p class="shown"><code class="key">${grouped(secret)}</code></p>
<p class="hint">${say('factor.showNobody')}</p></li>
<li>${say('factor.enterAppCode')}</li>
</ol>`;
}

/** In groups of four, for people who type it; apps ignore the spaces. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, '$& ');
}
