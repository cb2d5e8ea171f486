/**
 * Who looks at the pages of their own account, `/account`: the person who is signed in in this browser, and how they
 * sign in again.
 *
 * Guarantee: a page is shown only to a user who is active now, and a form counts only if it comes from a page that this
 * session of this browser got. What weakens the account needs a sign-in within the last minutes (RECENT_S), so a browser
 * that was left open is not enough.
 */
import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import { ACCOUNT_CLIENT, ACCOUNT_PATHS, OAUTH_PATHS } from '../../contract/own-clients.ts';
import { findUser, stateNow, type User } from '../../directory/users/store.ts';
import type { Config } from '../../platform/config.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { LANGUAGE_PARAMETER, problemPage, sendPage } from '../../platform/html/layout.ts';
import { say, wishedLanguage, wishFor } from '../../platform/messages/catalogue.ts';
import { nameCaller } from '../../platform/request-context.ts';
import { html } from '../../platform/text/html.ts';
import { showBrandingOf } from '../branding.ts';
import { RECENT_S } from '../login/owner-proof.ts';
import type { LoginPageDeps } from '../pages/interaction.ts';
import type { CurrentLogin } from '../sessions.ts';

export interface AccountDeps extends LoginPageDeps {
  config: LoginPageDeps['config'] &
    Pick<Config, 'SESSION_TTL_DAYS' | 'PHONE_CODE_TTL_MS' | 'SMS_URL' | 'WEBAUTHN_RP_ID' | 'WEBAUTHN_ORIGINS'>;
}

/** Who is signed in in this browser. */
export interface Person {
  user: User;
  /** Of the browser's session. */
  uid: string;
  /** Seconds since the sign-in. */
  ageS: number;
}

/** Undefined if nobody is, or if they may not sign in any more. */
export async function personOf(
  { oauth, pool, config }: AccountDeps,
  req: Request,
  res: Response,
): Promise<Person | undefined> {
  const provider = oauth.current();
  const session = await provider.Session.get(provider.createContext(req, res));
  const user = session.accountId === undefined ? undefined : await findUser(pool, session.accountId);
  if (user?.kind !== 'human' || stateNow(user) !== 'active') return undefined;
  nameCaller({ userId: user.id });
  wishFor({ user: user.preferredLanguage ?? undefined });
  await showBrandingOf({ pool, config }, { orgId: user.orgId });
  return { user, uid: session.uid, ageS: Math.floor(Date.now() / 1000) - (session.loginTs ?? 0) };
}

/** Whether the sign-in is recent enough for a change. */
export function isRecent({ ageS }: Person): boolean {
  return ageS <= RECENT_S;
}

/** The browser of the person as a login (../sessions.ts). */
export function loginOf({ uid }: Person): CurrentLogin {
  return { application: '', browser: uid };
}

/** The path of a page, with the path of the public address before it. */
export function accountUrl({ baseUrl }: Pick<Config, 'baseUrl'>, section: string): string {
  const path = new URL(baseUrl).pathname.replace(/\/$/, '') + ACCOUNT_PATHS.page;
  return section === '' ? path : `${path}/${section}`;
}

/**
 * Leads to the sign-in, and then back to the section. The code of this request is never redeemed: the session of the
 * browser is what the pages need. The sign-in is in the language of this page, which a link may have asked for.
 * @param section one of the known ones
 * @param isRecentNeeded a sign-in of any age is enough else
 */
export function askToSignIn({ config }: AccountDeps, res: Response, section: string, isRecentNeeded: boolean): void {
  const language = wishedLanguage();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: ACCOUNT_CLIENT,
    redirect_uri: config.baseUrl + ACCOUNT_PATHS.signedIn,
    scope: 'openid',
    state: `${randomBytes(16).toString('base64url')}.${section}`,
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    ...(isRecentNeeded ? { max_age: String(RECENT_S) } : {}),
    ...(language ? { [LANGUAGE_PARAMETER]: language } : {}),
  });
  res.redirect(303, `${config.baseUrl}${OAUTH_PATHS.authorization}?${query}`);
}

/**
 * Where a sign-in leads back to. It does not ask again by itself: the sign-in may have been cancelled.
 * @param needsRecent whether a section needs a recent sign-in, of each known one
 */
export async function signedIn(
  deps: AccountDeps,
  { req, res }: { req: Request; res: Response },
  needsRecent: ReadonlyMap<string, boolean>,
): Promise<void> {
  const [, named = ''] = text(req.query, 'state').split('.');
  const section = needsRecent.has(named) ? named : '';
  const person = await personOf(deps, req, res);
  const url = accountUrl(deps.config, section);
  if (person && (isRecent(person) || !needsRecent.get(section))) return res.redirect(303, url);
  const again = html`<p class="links"><a href="${url}">${say('account.signInAgain')}</a></p>`;
  sendPage(res, 400, problemPage(say('account.pleaseSignInAgain'), say('account.recentSignInNeeded'), again));
}

const TOKEN = 'account form';

/** What all forms of a person's pages carry. */
export function tokenOf(secrets: Secrets, { uid }: Person): string {
  return secrets.seal(uid, TOKEN);
}

/** @throws ApiError 403 for a form of another session or browser */
export function requireToken(secrets: Secrets, { uid }: Person, token: string): void {
  if (isToken(secrets, uid, token)) return;
  throw new ApiError('PERMISSION_DENIED', 'PAGE-TOKEN', 'The form does not belong to this sign-in.');
}

function isToken(secrets: Secrets, uid: string, token: string): boolean {
  try {
    return secrets.unseal(token, TOKEN) === uid;
  } catch {
    return false;
  }
}
