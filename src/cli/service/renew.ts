/**
 * Keeps access tokens valid: returns the one that `muster login` stored, or a new one shortly before it expires.
 *
 * Guarantee: a new token and its refresh token are stored before they are used, and a refresh token is used once,
 * however many commands run.
 * On crash: between the response of the service and the storing of the tokens, a new login is needed.
 */
import { EXIT, Failure } from '../terminal/failure.ts';
import { withLock } from './lock.ts';
import { keepLogin, type Login, readKept, type Settings } from './settings.ts';

/** A token is renewed when it is valid for less than this. */
const MARGIN_MS = 60_000;

/**
 * Returns a valid access token.
 * @param login what was stored when the command started
 * @throws Failure when the service does not renew it, or does not answer
 */
export async function renewed(settings: Settings, login: Login): Promise<string> {
  if (!isRenewable(login)) return login.accessToken;
  const fresh = await withLock(settings.path, () => renewOnce(settings));
  settings.kept.logins[settings.url] = fresh;
  return fresh.accessToken;
}

/** Another command may have renewed it, or logged out, while this one waited for the lock. */
async function renewOnce({ path, url }: Settings): Promise<Login> {
  const login = (await readKept(path)).logins[url];
  if (!login) throw new Failure(`You are no longer logged in at ${url}.`, LOG_IN);
  if (!isRenewable(login)) return login;
  // Loaded only when needed: commands should start fast.
  const { refresh } = await import('./oauth-server.ts');
  const fresh = await refresh(url, login);
  await keepLogin(path, url, fresh, { asDefault: false });
  return fresh;
}

const LOG_IN = { exitCode: EXIT.denied, advice: 'Run `muster login`.' };

/** A login without a refresh token is used as it is: the service decides whether it is valid. */
function isRenewable(login: Login): login is Login & { refreshToken: string } {
  if (login.refreshToken === undefined || login.expiresAt === undefined) return false;
  return login.expiresAt - Date.now() < MARGIN_MS;
}
