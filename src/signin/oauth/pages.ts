/**
 * The pages of the device flow (RFC 8628), in which a device signs in through a browser elsewhere (enter its code,
 * continue or cancel, done), the pages for signing out, and the error pages for an application's request that fails
 * before anybody signs in.
 *
 * They work without JavaScript. The forms of the device flow carry the authorization server's own token against
 * cross-site forgery. The code alone does nothing: a user must sign in and confirm, as the device may be somebody
 * else's (section 5.4).
 */
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { type HtmlPage, messagePage, problemPage } from '../../platform/html/layout.ts';

/** What all forms of the device flow share. */
export interface DeviceFrame {
  /** Address that the form is sent to. */
  action: string;
  /** The token of this browser's session. */
  xsrf: string;
}

/** Asks for the code. @param typed what was entered before */
export function deviceCodeForm({ action, xsrf }: DeviceFrame, typed: string, problem?: Problem): HtmlPage {
  const code = { name: 'user_code', label: 'Code', isCode: true, value: typed };
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
export function deviceConfirmPage({ action, xsrf }: DeviceFrame, clientName: string, userCode: string): HtmlPage {
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

/** The page after the confirmation. */
export function deviceDonePage(clientName: string): HtmlPage {
  return messagePage(
    'Your device is connected',
    `${clientName} is signed in. You can close this page and return to your device.`,
  );
}

/** The page after a cancellation. @param again address of the form for the code */
export function deviceStoppedPage(again: string): HtmlPage {
  return problemPage('Sign-in cancelled', 'The device has no access. You can close this page.', anotherCode(again));
}

/** The page for a form that is too old, or whose token belongs to the session of another browser. */
export function deviceFormGonePage(again: string): HtmlPage {
  return problemPage('This form has expired', 'Please enter the code from your device again.', anotherCode(again));
}

function anotherCode(address: string): Html {
  return html`<p class="links"><a href="${address}">Enter a code</a></p>`;
}

/**
 * Asks whether to sign out.
 * @param form the authorization server's own form (`op.logoutForm`) as markup: it holds the hidden fields
 */
export function logoutPage(form: string): HtmlPage {
  return {
    title: 'Sign out',
    body: html`<h1>Sign out?</h1>
<p id="why">You will have to sign in again to use your applications.</p>
${{ markup: form }}
<div class="buttons">
<button type="submit" form="op.logoutForm" name="logout" value="yes" aria-describedby="why" autofocus>Sign out</button>
<button type="submit" form="op.logoutForm" class="quiet">Stay signed in</button>
</div>`,
  };
}

/** @param isStill whether the user chose to stay signed in */
export function signedOutPage({ isStill = false }: { isStill?: boolean } = {}): HtmlPage {
  return isStill
    ? messagePage('You are still signed in', 'Nothing has changed. You can close this page.')
    : messagePage('You are signed out', 'You can close this page.');
}

/** An error in the form of RFC 6749 section 4.1.2.1. */
export interface OauthError {
  error: string;
  error_description?: string | undefined;
}

/** The page for a request whose error cannot be returned to the application that sent it. */
export function oauthErrorPage({ error, error_description: description }: OauthError): HtmlPage {
  if (error === 'server_error') {
    return problemPage('Something went wrong', 'This is an error on our side. Please try again later.');
  }
  const technical: Html = html`<p class="small">For the developers of the application: <code>${error}</code>${
    description ? html`, ${description}` : undefined
  }</p>`;
  return problemPage(
    'Something went wrong',
    'The application sent you here with an invalid request. Please go back to it and try again.',
    technical,
  );
}

/** The page for a login that is complete, was not started in this browser, or took too long (`SessionNotFound`). */
export function loginGonePage(): HtmlPage {
  return problemPage(
    'This sign-in has expired',
    'It took too long, is already complete, or was started in another browser. Please go back to the application and sign in from there.',
  );
}
