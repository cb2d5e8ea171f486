/**
 * Whose name, logo and language the pages of a sign-out have: those of the organization of who is signed in in this
 * browser, and afterwards of who just was.
 *
 * Guarantee: a person is known by the session of the browser, or by an ID token of ours that the application sends with
 * the request (`id_token_hint`, OpenID Connect RP-Initiated Logout 1.0 section 2), whose signature was checked. A client
 * id tells nothing: everybody can name one, and applications belong to no organization. After a sign-out, an encrypted
 * cookie keeps the organization for a few minutes: it shows a branding, does nothing else, and names nobody.
 */
import type { RequestHandler, Response } from 'express';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { findUser } from '../../directory/users/store.ts';
import { isStoreFault } from '../../platform/db/faults.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { cookieName, cookieOptions, cookieValue } from '../../platform/http/cookies.ts';
import { type BrandingDeps, showBrandingOf } from '../branding.ts';

export interface SignOutDeps extends BrandingDeps {
  /** The library with its current keys. */
  oauth: { current(): Provider };
  secrets: Secrets;
}

const PURPOSE = 'signed out';
const COOKIE = 'signed_out';
const KEPT_MS = 10 * 60_000;

/** Mount it before the library's pages of a sign-out. */
export function brandSignOut(deps: SignOutDeps): RequestHandler {
  const name = cookieName(deps.config.baseUrl, COOKIE);
  return async (req, res, next) => {
    const provider = deps.oauth.current();
    const { accountId } = await provider.Session.get(provider.createContext(req, res));
    const orgId = opened(deps.secrets, cookieValue(req.get('cookie') ?? '', name));
    await showBrandingOf(deps, accountId === undefined ? { orgId } : { userId: accountId });
    next();
  };
}

/** Keeps the organization of who signs out, for the page that follows. */
export function rememberSignOuts(
  provider: Provider,
  { pool, config, secrets }: Pick<SignOutDeps, 'pool' | 'config' | 'secrets'>,
): void {
  const name = cookieName(config.baseUrl, COOKIE);
  const options = { ...cookieOptions(config.baseUrl), maxAge: KEPT_MS };
  provider.use(async (ctx, next) => {
    await next();
    const userId = signedOut(ctx as KoaContextWithOIDC);
    const user = userId === undefined ? undefined : await findUser(pool, userId).catch(undefinedIfAway);
    if (user) (ctx.res as Response).cookie(name, secrets.seal(user.orgId, PURPOSE), options);
  });
}

/** Whose session has just ended; without a session, the user of the ID token. */
function signedOut({ oidc }: KoaContextWithOIDC): string | undefined {
  // An address that is not the library's has no such context.
  const { route, session } = oidc ?? {};
  // The types do not know that the library marks the session that it ends.
  const hasEnded = (session as { destroyed?: boolean } | undefined)?.destroyed === true;
  if (route === 'end_session_confirm') return hasEnded ? session?.accountId : undefined;
  return route === 'end_session' && session?.accountId === undefined ? hinted(oidc) : undefined;
}

/** The sign-out is done: the page that follows has no branding then. */
function undefinedIfAway(error: unknown): undefined {
  if (!isStoreFault(error)) throw error;
}

/** The user of the ID token. The library names the client only when it has checked the token. */
function hinted({ entities }: KoaContextWithOIDC['oidc']): string | undefined {
  const { sub } = entities.Client ? (entities.IdTokenHint?.payload ?? {}) : {};
  return typeof sub === 'string' ? sub : undefined;
}

function opened(secrets: Secrets, sealed: string | undefined): string | undefined {
  try {
    return sealed === undefined ? undefined : secrets.unseal(sealed, PURPOSE);
  } catch {
    return undefined; // not a value of ours
  }
}
