/** The pages for signing out, and the error pages for an application's request that fails before anybody signs in. */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';
import { messagePage, problemPage } from './parts.ts';

/**
 * Asks whether to sign out.
 * @param form the authorization server's own form (`op.logoutForm`) as markup: it holds the hidden fields
 */
export function logoutPage(form: string): Page {
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
export function signedOutPage({ isStill = false }: { isStill?: boolean } = {}): Page {
  return isStill
    ? messagePage('You are still signed in', 'Nothing has changed. You can close this page.')
    : messagePage('You are signed out', 'You can close this page.');
}

/** An error in the form of RFC 6749 section 4.1.2.1. */
export interface OauthError {
  error: string;
  error_description?: string | undefined;
}

/** For a request whose error cannot be returned to the application that sent it. */
export function oauthErrorPage({ error, error_description: description }: OauthError): Page {
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

/** For a login that is complete, was not started in this browser, or took too long (`SessionNotFound`). */
export function loginGonePage(): Page {
  return problemPage(
    'This sign-in has expired',
    'It took too long, is already complete, or was started in another browser. Please go back to the application and sign in from there.',
  );
}
