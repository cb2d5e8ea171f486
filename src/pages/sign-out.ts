/** The pages around an application's requests: log out, logged out, and what went wrong before anybody could log in. */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { messagePage, problemPage } from './parts.ts';

/**
 * Asks whether to log out.
 * @param form the authorization server's own form (`op.logoutForm`) as markup: it holds what the answer needs
 */
export function logoutPage(form: string): Page {
  return {
    title: 'Log out',
    body: html`<h1>Log out?</h1>
<p id="why">You will have to log in again to use the applications that you are logged in to.</p>
${{ markup: form }}
<div class="buttons">
<button type="submit" form="op.logoutForm" name="logout" value="yes" aria-describedby="why" autofocus>Log out</button>
<button type="submit" form="op.logoutForm" class="quiet">Stay logged in</button>
</div>`,
  };
}

/** @param isStill whether the person chose to stay logged in */
export function signedOutPage({ isStill = false }: { isStill?: boolean } = {}): Page {
  return isStill
    ? messagePage('You are still logged in', 'Nothing has changed. You can close this page.')
    : messagePage('You are logged out', 'You can close this page.');
}

/** What RFC 6749 section 4.1.2.1 makes of an error. */
export interface OauthError {
  error: string;
  error_description?: string | undefined;
}

/** For a request that cannot even be answered to the application which sent it. */
export function oauthErrorPage({ error, error_description: description }: OauthError): Page {
  if (error === 'server_error') {
    return problemPage('This did not work', 'Something went wrong on our side. Please try again in a while.');
  }
  const technical: Html = html`<p class="small">For those who run the application: <code>${error}</code>${
    description ? html`, ${description}` : undefined
  }</p>`;
  return problemPage(
    'This did not work',
    'The application sent you here with a request that cannot be answered. Please go back to it and try again.',
    technical,
  );
}

/** For a log-in that is over, was never begun in this browser, or took too long (`SessionNotFound`). */
export function loginGonePage(): Page {
  return problemPage(
    'This log-in is over',
    'It took too long, was finished already, or was begun in another browser. Please go back to the application and log in from there.',
  );
}
