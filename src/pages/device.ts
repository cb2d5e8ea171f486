/**
 * The pages of a device that logs in through a browser elsewhere (RFC 8628): type its code, say yes or no, done.
 *
 * They work without JavaScript. Their forms carry the authorization server's own token against cross-site forgery, and the
 * code alone does nothing: somebody has to be logged in and to agree (section 5.4: it may be another one's device).
 */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { alert, field, hidden, messagePage, type Problem, problemPage, titled } from './parts.ts';

/** What every form here has in common. */
export interface DeviceFrame {
  /** Address that the form goes to. */
  action: string;
  /** The token of this browser's session. */
  xsrf: string;
}

export function deviceCodeForm({ action, xsrf }: DeviceFrame, typed: string, problem?: Problem): Page {
  const code = { name: 'user_code', label: 'Code', type: 'text', autocomplete: 'off', value: typed } as const;
  return {
    title: titled('Connect a device', problem),
    body: html`<h1>Connect a device</h1>
<p>Type the code that your device or terminal shows.</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ xsrf })}${field({ ...code, problem, autofocus: true })}
<button type="submit">Go on</button>
</form>`,
  };
}

/** Shows the code again, as it may have come with a link that somebody sent. */
export function deviceConfirmPage({ action, xsrf }: DeviceFrame, clientName: string, userCode: string): Page {
  const title = 'Is this your device?';
  return {
    title,
    body: html`<h1>${title}</h1>
<p><strong>${clientName}</strong> wants to act as you on a device that shows this code:</p>
<p class="shown"><code>${userCode}</code></p>
<p id="why">Go on only if you started that yourself and see the same code there. If somebody sent you here, stop.</p>
<form method="post" action="${action}">
${hidden({ xsrf, user_code: userCode })}<div class="buttons">
<button type="submit" name="confirm" value="yes" aria-describedby="why">Yes, go on</button>
<button type="submit" name="abort" value="yes" class="quiet">No, stop</button>
</div>
</form>`,
  };
}

export function deviceDonePage(clientName: string): Page {
  return messagePage(
    'Your device is connected',
    `${clientName} is logged in. You can close this page and go back to it.`,
  );
}

export function deviceStoppedPage(again: string): Page {
  return problemPage('Nobody was logged in', 'You can close this page. The device gets no access.', anotherCode(again));
}

/** For a form that is too old, or of another browser: this one has no token for another. */
export function deviceFormGonePage(again: string): Page {
  return problemPage('That took too long', 'Please type the code of your device once more.', anotherCode(again));
}

function anotherCode(address: string): Html {
  return html`<p class="links"><a href="${address}">Type a code</a></p>`;
}
