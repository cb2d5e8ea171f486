/**
 * The pages of the device flow (RFC 8628), in which a device signs in through a browser elsewhere: enter its code,
 * continue or cancel, done.
 *
 * They work without JavaScript. Their forms carry the authorization server's own token against cross-site forgery. The
 * code alone does nothing: a user must sign in and confirm, as the device may be somebody else's (section 5.4).
 */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { alert, field, hidden, messagePage, type Problem, problemPage, titled } from './parts.ts';

/** What all forms here share. */
export interface DeviceFrame {
  /** Address that the form is sent to. */
  action: string;
  /** The token of this browser's session. */
  xsrf: string;
}

export function deviceCodeForm({ action, xsrf }: DeviceFrame, typed: string, problem?: Problem): Page {
  const code = { name: 'user_code', label: 'Code', type: 'text', autocomplete: 'off', value: typed } as const;
  return {
    title: titled('Connect a device', problem),
    body: html`<h1>Connect a device</h1>
<p>Enter the code that your device or terminal shows.</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ xsrf })}${field({ ...code, problem, autofocus: true })}
<button type="submit">Continue</button>
</form>`,
  };
}

/** Shows the code again, as it may come from a link that somebody else sent. */
export function deviceConfirmPage({ action, xsrf }: DeviceFrame, clientName: string, userCode: string): Page {
  const title = 'Is this your device?';
  return {
    title,
    body: html`<h1>${title}</h1>
<p><strong>${clientName}</strong> wants to sign in as you on a device that shows this code:</p>
<p class="shown"><code>${userCode}</code></p>
<p id="why">Continue only if you started this yourself and see the same code there. If somebody sent you here, cancel.</p>
<form method="post" action="${action}">
${hidden({ xsrf, user_code: userCode })}<div class="buttons">
<button type="submit" name="confirm" value="yes" aria-describedby="why">Continue</button>
<button type="submit" name="abort" value="yes" class="quiet">Cancel</button>
</div>
</form>`,
  };
}

export function deviceDonePage(clientName: string): Page {
  return messagePage(
    'Your device is connected',
    `${clientName} is signed in. You can close this page and return to your device.`,
  );
}

export function deviceStoppedPage(again: string): Page {
  return problemPage('Sign-in cancelled', 'The device has no access. You can close this page.', anotherCode(again));
}

/** For a form that is too old, or whose token belongs to the session of another browser. */
export function deviceFormGonePage(again: string): Page {
  return problemPage('This form has expired', 'Please enter the code from your device again.', anotherCode(again));
}

function anotherCode(address: string): Html {
  return html`<p class="links"><a href="${address}">Enter a code</a></p>`;
}
