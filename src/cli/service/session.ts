/**
 * What every command starts with: the output, and the service that the options, the environment or the login name, with
 * a valid token.
 *
 * Guarantee: a new token and its refresh token are stored before they are used, and a refresh token is used once,
 * however many commands run.
 * On crash: between the response of the service and the storing of the tokens, a new login is needed.
 */
import type { Answer } from '../../contract/client.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { type Output, openOutput } from '../terminal/output.ts';
import { type Api, openApi } from './api.ts';
import { withLock } from './lock.ts';
import { type GlobalOptions, keepLogin, type Login, readKept, readSettings, type Settings } from './settings.ts';

/** Options of all commands. */
export interface CommonOptions extends GlobalOptions {
  json?: boolean;
}

export interface Session {
  out: Output;
  api: Api;
  settings: Settings;
}

/** @throws Failure when the settings are wrong; a missing token is reported by the first call */
export async function openSession(options: CommonOptions): Promise<Session> {
  const settings = await readSettings(options);
  return {
    out: openOutput(options.json === true, options.shell),
    settings,
    api: openApi(settings.url, tokens(settings)),
  };
}

function tokens(settings: Settings): () => Promise<string> {
  return async () => {
    if (settings.token) return settings.token;
    const login = settings.kept.logins[settings.url];
    if (login) return renewed(settings, login);
    throw new Failure(`You are not logged in at ${settings.url}.`, {
      exitCode: EXIT.denied,
      advice: 'Run `muster login`, or set MUSTER_TOKEN to a token (the first start of the service prints one).',
    });
  };
}

/** A token is renewed when it is valid for less than this. */
const MARGIN_MS = 60_000;

/**
 * The access token that `muster login` stored, or a new one shortly before it expires.
 * @param login what was stored when the command started
 * @throws Failure when the service does not renew it, or does not answer
 */
async function renewed(settings: Settings, login: Login): Promise<string> {
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

/** The user that the token belongs to, with the organizations on which they have roles. */
export type Me = Answer<'getMe'>;

/** @throws Failure when the token is not valid */
export function readMe(api: Pick<Api, 'call'>): Promise<Me> {
  return api.call('getMe');
}

export function isIamOwner({ instanceRoles }: Me): boolean {
  return instanceRoles.includes('IAM_OWNER');
}

/** `IAM_OWNER`, `ORG_OWNER of Acme` or `without any role`, as the end of a sentence. */
export function rolesOf({ instanceRoles, organizations }: Me): string {
  const [first, ...others] = organizations;
  if (instanceRoles.length > 0) return instanceRoles.join(', ');
  if (!first) return 'without any role';
  return `${first.roles.join(', ')} of ${first.name}${others.length > 0 ? ` and ${others.length} more` : ''}`;
}

/** `Ann Arbor (ann@acme.example)` */
export function nameOf({ user }: Me): string {
  const name = user.human?.profile.displayName || user.machine?.name || user.userId;
  return `${name} (${user.preferredLoginName})`;
}
