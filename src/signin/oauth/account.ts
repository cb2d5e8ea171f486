/**
 * What the protocol library asks the service: which users are its accounts, which organization an application names,
 * and how errors and sign-outs are shown.
 *
 * Guarantee: users are read on every request, and only active users of active organizations are accounts, so a deactivated
 * user's refresh tokens, sessions and userinfo end with the next call. `auth_time` of an access token is the time when the person
 * proved who they are; a login that was still valid and a refresh token keep the old time. A request for HTML at an
 * address that browsers are sent to gets a page of ours, any other request the JSON of RFC 6749 section 5.2. Neither
 * reveals anything of an internal error but its name.
 */
import { type Account, type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { findOrgByDomain } from '../../directory/organizations.ts';
import { findUser, stateNow } from '../../directory/users/store.ts';
import type { Db } from '../../platform/db/pool.ts';
import { idProblem } from '../../platform/fields.ts';
import { formTarget, type HtmlPage, type PageOptions, renderPage, VARIES } from '../../platform/html/layout.ts';
import { accountClaims } from './claims.ts';
import { loginGonePage, logoutPage, oauthErrorPage, signedOutPage } from './pages.ts';

/** The account, if the user exists and is active. */
export async function findAccount(db: Db, ctx: KoaContextWithOIDC, userId: string): Promise<Account | undefined> {
  const user = await findUser(db, userId);
  if (!user || stateNow(user) !== 'active') return undefined;
  return {
    accountId: user.id,
    claims: (use) => {
      const place = use === 'userinfo' ? 'userinfo' : 'id_token';
      return accountClaims(db, user, { client: ctx.oidc.client, place });
    },
  };
}

/**
 * The time of the sign-in, for the access token of a person (RFC 9470 section 6); introspection shows it too. The API
 * reads it to tell a person who has just signed in from a holder of an old token. Undefined for tokens of programs.
 */
export function signInTime(ctx: KoaContextWithOIDC): { auth_time: number } | undefined {
  const { AuthorizationCode, DeviceCode, RefreshToken } = ctx.oidc.entities;
  const authTime = (AuthorizationCode ?? DeviceCode ?? RefreshToken)?.authTime;
  return authTime === undefined ? undefined : { auth_time: authTime };
}

/**
 * The parameter of an authorization request that names an organization; the library keeps it with a login in progress.
 * Only the login page uses it: a bare user name is then first looked for in that organization.
 */
export const ORGANIZATION = 'organization';

/** Where the primary domain of a scope is kept: only we write it. */
export const DOMAIN = 'organization_domain';

/** Scopes that name an organization, which the library would drop as unknown. */
const ID_SCOPE = /^urn:(?:service|zitadel):iam:org:id:(.+)$/;
const DOMAIN_SCOPE = /^urn:(?:service|zitadel):iam:org:domain:primary:(.+)$/;

/** Copies the organization of a scope into a parameter, unless the request has the parameter. An id counts first. */
export function keepNamedOrganization(params: Record<string, string | string[] | undefined>): void {
  const { scope, [ORGANIZATION]: named } = params;
  const scopes = typeof scope === 'string' ? scope.split(' ') : [];
  const firstOf = (names: RegExp) => scopes.map((one) => names.exec(one)?.[1]).find((found) => found !== undefined);
  params[ORGANIZATION] = named ?? firstOf(ID_SCOPE);
  params[DOMAIN] = params[ORGANIZATION] === undefined ? firstOf(DOMAIN_SCOPE) : undefined;
}

/** The id of the organization, if the request named one that can exist. */
export function namedOrganization(params: Record<string, unknown>): string | undefined {
  const id = params[ORGANIZATION];
  return typeof id === 'string' && idProblem(id) === undefined ? id : undefined;
}

/**
 * The id of the organization that the request named by its id or its primary domain. A domain that nobody has is as none,
 * and costs what one costs that somebody has: one statement.
 */
export async function organizationOf(db: Db, params: Record<string, unknown>): Promise<string | undefined> {
  const { [DOMAIN]: domain } = params;
  // What could be no id could be no domain either.
  if (typeof domain !== 'string' || idProblem(domain) !== undefined) return namedOrganization(params);
  return (await findOrgByDomain(db, domain))?.id;
}

/**
 * The parameter that names the external provider to lead straight to; the library keeps it with a login in progress. The
 * other names are those of Keycloak and Auth0.
 */
const HINT = 'idp_hint';
const OTHER_HINTS = ['kc_idp_hint', 'connection'] as const;
export const HINTS = [HINT, ...OTHER_HINTS];
/** Longer ones name no provider of ours. */
const LONGEST_HINT = 200;

/** Keeps one of the names of a provider, if it can be one. */
export function keepHint(params: Record<string, string | string[] | undefined>): void {
  const [hint] = HINTS.map((name) => params[name]).filter((value) => typeof value === 'string' && value !== '');
  for (const name of OTHER_HINTS) params[name] = undefined;
  params[HINT] = hint !== undefined && hint.length <= LONGEST_HINT ? hint : undefined;
}

/** The provider that the request named; empty if it named none. */
export function hintOf(params: Record<string, unknown>): string {
  return typeof params[HINT] === 'string' ? params[HINT] : '';
}

/** Routes that browsers are sent to, by the library's names. */
const FOR_PEOPLE = /^(?:authorization|resume|end_session)/;

/** The error while the database does not answer: the request is not at fault, and a retry may succeed. */
export const UNAVAILABLE: ErrorOut = {
  error: 'temporarily_unavailable',
  error_description: 'The service is not available right now. Try again.',
};
export const FAULT: ErrorOut = { error: 'server_error', error_description: 'An internal error occurred.' };

/** Reports an error to people or to programs. */
export function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void {
  if (!FOR_PEOPLE.test(ctx.oidc.route) || ctx.accepts('json', 'html') !== 'html') ctx.body = out;
  else show(ctx, error instanceof errors.SessionNotFound ? loginGonePage() : oauthErrorPage(out));
}

/** The pages of a sign-out. */
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

/** Sends a page. */
export function show(ctx: KoaContextWithOIDC, page: HtmlPage, options?: PageOptions): void {
  const { headers, markup } = renderPage(page, options);
  ctx.vary(VARIES);
  ctx.set(headers);
  ctx.body = markup;
}
