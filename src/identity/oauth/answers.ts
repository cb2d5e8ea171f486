/**
 * What the protocol library shows to people and what it says to programs when something is wrong.
 *
 * Guarantee: whoever asks for HTML at an address that people come to gets a page of ours, everybody else the JSON of RFC
 * 6749 section 5.2; neither holds anything of a fault of our own but its name.
 */
import { type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { formTarget, type Page, type PageOptions, renderPage } from '../../pages/layout.ts';
import { loginGonePage, logoutPage, oauthErrorPage, signedOutPage } from '../../pages/sign-out.ts';

/** Routes, by the library's names, that browsers are sent to. */
const FOR_PEOPLE = /^(?:authorization|resume|end_session)/;

/** A database that does not answer is no fault of the request, and asking again may help. */
export const UNAVAILABLE: ErrorOut = {
  error: 'temporarily_unavailable',
  error_description: 'The service is not available right now; try again.',
};
export const FAULT: ErrorOut = { error: 'server_error', error_description: 'An internal error occurred.' };

export function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void {
  if (!FOR_PEOPLE.test(ctx.oidc.route) || ctx.accepts('json', 'html') !== 'html') ctx.body = out;
  else show(ctx, error instanceof errors.SessionNotFound ? loginGonePage() : oauthErrorPage(out));
}

export const LOGOUT: NonNullable<Configuration['features']>['rpInitiatedLogout'] = {
  enabled: true,
  /** An application that shows whose login it was (`id_token_hint`) need not have the person asked again. */
  logoutSource(ctx, form) {
    const { session, entities } = ctx.oidc;
    const isTheirs = entities.IdTokenHint?.payload.sub === session?.accountId;
    const back = session?.state?.postLogoutRedirectUri;
    show(ctx, logoutPage(form), {
      formTargets: typeof back === 'string' ? [formTarget(back)] : [],
      ...(isTheirs ? { script: 'document.querySelector("button[name=logout]").click()' } : {}),
    });
  },
  async postLogoutSuccessSource(ctx) {
    const { accountId } = await ctx.oidc.provider.Session.get(ctx);
    show(ctx, signedOutPage({ isStill: accountId !== undefined }));
  },
};

function show(ctx: KoaContextWithOIDC, page: Page, options?: PageOptions): void {
  const { headers, markup } = renderPage(page, options);
  ctx.set(headers);
  ctx.body = markup;
}
