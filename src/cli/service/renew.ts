/**
 * Access tokens that last: the one that `muster login` kept, or another one shortly before it runs out.
 *
 * Guarantee: the new one and its refresh token are kept before anybody uses them, and a refresh token is used once, however
 * many commands run. If we die between the service's answer and the keeping, a new login is needed.
 */
import { EXIT, Failure } from '../terminal/failure.ts';
import { withLock } from './lock.ts';
import { keepLogin, type Login, lockPath, readKept, type Settings } from './settings.ts';

/** Renewed when it is good for less than this. */
const MARGIN_MS = 60_000;

/**
 * A valid access token.
 * @param login what was kept when the command began
 * @throws Failure when the service does not renew it, or does not answer
 */
export async function renewed(settings: Settings, login: Login): Promise<string> {
  if (!isRenewable(login)) return login.accessToken;
  const fresh = await withLock(lockPath(), () => renewOnce(settings.url));
  settings.kept.logins[settings.url] = fresh;
  return fresh.accessToken;
}

/** Another command may have renewed it, or logged out, while we waited for our turn. */
async function renewOnce(url: string): Promise<Login> {
  const login = (await readKept()).logins[url];
  if (!login) throw new Failure(`Nobody is logged in at ${url} any more.`, LOG_IN);
  if (!isRenewable(login)) return login;
  // Only when it is needed: commands should start fast.
  const { refresh } = await import('./oauth-server.ts');
  const fresh = await refresh(url, login);
  await keepLogin(url, fresh, { asDefault: false });
  return fresh;
}

const LOG_IN = { exitCode: EXIT.denied, advice: 'Run `muster login`.' };

/** What has no refresh token is used as it is: the service says whether it is good. */
function isRenewable(login: Login): login is Login & { refreshToken: string } {
  if (login.refreshToken === undefined || login.expiresAt === undefined) return false;
  return login.expiresAt - Date.now() < MARGIN_MS;
}
