/**
 * How the protocol library reports errors to people and to programs, and its sign-out pages.
 *
 * Guarantee: a request for HTML at an address that browsers are sent to gets a page of ours, any other request the JSON
 * of RFC 6749 section 5.2. Neither reveals anything of an internal error but its name.
 */
import { type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { formTarget, type Page, type PageOptions, renderPage } from '../../pages/layout.ts';
import { loginGonePage, logoutPage, oauthErrorPage, signedOutPage } from '../../pages/sign-out.ts';

/** Routes that browsers are sent to, by the library's names. */
const FOR_PEOPLE = /^(?:authorization|resume|end_session)/;

/** For a database that does not answer: the request is not at fault, and a retry may succeed. */
export const UNAVAILABLE: ErrorOut = {
  error: 'temporarily_unavailable',
  error_description: 'The service is not available right now. Try again.',
};
export const FAULT: ErrorOut = { error: 'server_error', error_description: 'An internal error occurred.' };

export function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void {
  if (!FOR_PEOPLE.test(ctx.oidc.route) || ctx.accepts('json', 'html') !== 'html') ctx.body = out;
  else show(ctx, error instanceof errors.SessionNotFound ? loginGonePage() : oauthErrorPage(out));
}

export const LOGOUT: NonNullable<Configuration['features']>['rpInitiatedLogout'] = {
  enabled: true,
  /** Does not ask the user if the application sent an `id_token_hint` for the user of the session. */
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
