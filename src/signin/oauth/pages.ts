/**
 * The pages of the device flow (RFC 8628), in which a device signs in through a browser elsewhere (enter its code,
 * continue or cancel, done), the pages for signing out, and the error pages for an application's request that fails
 * before anybody signs in.
 *
 * They work without JavaScript. The forms of the device flow carry the authorization server's own token against
 * cross-site forgery. The code alone does nothing: a user must sign in and confirm, as the device may be somebody
 * else's (section 5.4).
 */
import { errorPage } from '../../platform/html/errors.ts';
import { alert, field, hidden, type Problem, titled } from '../../platform/html/forms.ts';
import { type HtmlPage, messagePage, problemPage } from '../../platform/html/layout.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';

/** What all forms of the device flow share. */
export interface DeviceFrame {
  /** Address that the form is sent to. */
  action: string;
  /** The token of this browser's session. */
  xsrf: string;
}

/** Asks for the code. @param typed what was entered before */
export function deviceCodeForm({ action, xsrf }: DeviceFrame, typed: string, problem?: Problem): HtmlPage {
  const code = { name: 'user_code', label: say('common.code'), isCode: true, value: typed };
  const title = say('oauth.connectDevice');
  return {
    title: titled(title, problem),
    body: html`<h1>${title}</h1>
<p>${say('oauth.enterDeviceCode')}</p>
${alert(problem)}
<form method="post" action="${action}">
${hidden({ xsrf })}${field({ ...code, problem, autofocus: true })}
<button type="submit">${say('common.continue')}</button>
</form>`,
  };
}

/** Shows the code again, as it may come from a link that somebody else sent. */
export function deviceConfirmPage({ action, xsrf }: DeviceFrame, clientName: string, userCode: string): HtmlPage {
  const title = say('oauth.isYourDevice');
  return {
    title,
    body: html`<h1>${title}</h1>
<p>${sayHtml('oauth.deviceAsks', { application: clientName })}</p>
<p class="shown"><code>${userCode}</code></p>
<p id="why">${say('oauth.deviceCare')}</p>
<form method="post" action="${action}">
${hidden({ xsrf, user_code: userCode })}<div class="buttons">
<button type="submit" name="confirm" value="yes" aria-describedby="why">${say('common.continue')}</button>
<button type="submit" name="abort" value="yes" class="quiet">${say('common.cancel')}</button>
</div>
</form>`,
  };
}

/** The page after the confirmation. */
export function deviceDonePage(clientName: string): HtmlPage {
  return messagePage(say('oauth.deviceConnected'), say('oauth.deviceConnectedWhy', { application: clientName }));
}

/** The page after a cancellation. @param again address of the form for the code */
export function deviceStoppedPage(again: string): HtmlPage {
  return problemPage(say('oauth.deviceStopped'), say('oauth.deviceStoppedWhy'), anotherCode(again));
}

/** The page for a form that is too old, or whose token belongs to the session of another browser. */
export function deviceFormGonePage(again: string): HtmlPage {
  return problemPage(say('oauth.formExpired'), say('oauth.formExpiredWhy'), anotherCode(again));
}

function anotherCode(address: string): Html {
  return html`<p class="links"><a href="${address}">${say('oauth.enterCode')}</a></p>`;
}

/**
 * Asks whether to sign out.
 * @param form the authorization server's own form (`op.logoutForm`) as markup: it holds the hidden fields
 */
export function logoutPage(form: string): HtmlPage {
  return {
    title: say('oauth.signOut'),
    body: html`<h1>${say('oauth.signOutQuestion')}</h1>
<p id="why">${say('oauth.signOutWhy')}</p>
${{ markup: form }}
<div class="buttons">
<button type="submit" form="op.logoutForm" name="logout" value="yes" aria-describedby="why" autofocus>${say('oauth.signOut')}</button>
<button type="submit" form="op.logoutForm" class="quiet">${say('oauth.staySignedIn')}</button>
</div>`,
  };
}

/** @param isStill whether the user chose to stay signed in */
export function signedOutPage({ isStill = false }: { isStill?: boolean } = {}): HtmlPage {
  return isStill
    ? messagePage(say('oauth.stillSignedIn'), say('oauth.stillSignedInWhy'))
    : messagePage(say('oauth.signedOut'), say('oauth.closePage'));
}

/** An error in the form of RFC 6749 section 4.1.2.1. */
export interface OauthError {
  error: string;
  error_description?: string | undefined;
}

/** The page for a request whose error cannot be returned to the application that sent it. */
export function oauthErrorPage({ error, error_description: description }: OauthError): HtmlPage {
  if (error === 'server_error') return errorPage(500);
  const details = html`<bdi dir="ltr" lang="en"><code>${error}</code>${description ? html`, ${description}` : undefined}</bdi>`;
  const technical = html`<p class="small">${sayHtml('oauth.forDevelopers', { details })}</p>`;
  return problemPage(say('error.somethingWentWrong'), say('oauth.invalidRequest'), technical);
}

/** The page for a login that is complete, was not started in this browser, or took too long (`SessionNotFound`). */
export function loginGonePage(): HtmlPage {
  return problemPage(say('login.gone'), say('login.goneWhy'));
}
