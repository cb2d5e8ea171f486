/** The page for a user who is signed in, where an application may have that only if the user wants it. */
import { html } from '../html.ts';
import type { Page } from './layout.ts';
import { back, type LoginFrame, step } from './login-forms.ts';

/** @param loginName of the user who is signed in */
export function continuePage(frame: LoginFrame, loginName: string): Page {
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
