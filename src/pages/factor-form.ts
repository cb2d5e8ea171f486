/** The page of a login on which a user sets up the second factor that their organization requires. */
import { html } from '../html.ts';
import type { Page } from './layout.ts';
import { back, type LoginFrame, type Proven, step } from './login-forms.ts';
import { alert, field, type Problem, titled } from './parts.ts';

/** What the authenticator app needs. */
export interface FactorKey {
  /** In base32. */
  secret: string;
  /** The same as an `otpauth` address. */
  address: string;
}

export function factorForm(
  frame: LoginFrame,
  { proof, loginName }: Proven,
  { secret, address }: FactorKey,
  problem?: Problem,
): Page {
  const title = 'Set up a second factor';
  const body = html`<h1>${title}</h1>
<p>Your organization requires a code from an authenticator app whenever you sign in as <strong>${loginName}</strong>.</p>
${alert(problem)}
<ol class="steps">
<li>Install an authenticator app on your phone, if you have none.</li>
<li>Add an account in the app with this key:
<p class="shown"><code class="key">${grouped(secret)}</code></p>
<p class="hint">On your phone: <a href="${address}">open the key in the app</a>. Show it to nobody.</p></li>
<li>Enter the 6-digit code that the app shows.</li>
</ol>
${step(frame, 'setup', proof)}
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', problem, autofocus: true })}
<button type="submit">Continue</button>
</form>
${back(frame)}`;
  return { title: titled(title, problem), body };
}

/** In groups of four, for people who type it; apps ignore the spaces. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, '$& ');
}
