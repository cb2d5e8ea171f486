/** The page for people who are signed in but see no screen: it says whom to ask. */
import { html } from '../html.ts';
import type { At } from './page/at.ts';
import { messageBody } from './page/parts.ts';
import type { ConsolePage } from './page/show.ts';
import { ACCOUNT } from './texts/account.ts';
import { NO_ROLE } from './texts/frame.ts';
import type { Visit } from './visit.ts';

export function noRole(at: At, { caller, tokens }: Visit, organization: string): ConsolePage {
  const more = html`<p>${NO_ROLE.ask(organization)}</p>
<p><code class="shown">${caller.userId}</code></p>
<p><a href="${at('/account')}">${ACCOUNT.title}</a></p>`;
  const body = messageBody({ heading: NO_ROLE.heading, message: NO_ROLE.signedInAs(tokens.name), more });
  return { title: NO_ROLE.title, status: 403, body };
}
