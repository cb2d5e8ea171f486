import type { CommandModule } from 'yargs';
import { withLock } from '../service/lock.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { keepLogin, type Login, readKept } from '../service/settings.ts';

/** `muster logout`: ends the login at the service and deletes the stored token. */
export const logout: CommandModule<CommonOptions, CommonOptions> = {
  command: 'logout',
  describe: 'end the login at the service and delete the stored token',
  builder: (parser) => parser.example('$0 logout', 'from the service of the last login'),
  async handler(options) {
    const session = await openSession(options);
    const { path, url } = session.settings;
    // Under the lock: the token to revoke must be the stored one, even if another command renews it meanwhile.
    const login = await withLock(path, () => forget(session));
    session.out.result({ url, loggedOut: login !== undefined });
    session.out.line(login ? `Logged out at ${url}.` : `You were not logged in at ${url}.`);
  },
};

async function forget(session: Session): Promise<Login | undefined> {
  const { path, url } = session.settings;
  const login = (await readKept(path)).logins[url];
  if (!login) return undefined;
  await end(session, url, login);
  await keepLogin(path, url, undefined);
  return login;
}

/** A token passed with --token may be in use elsewhere, so it stays valid. */
async function end({ out }: Session, url: string, { refreshToken }: Login): Promise<void> {
  if (refreshToken === undefined) return;
  const { revoke } = await import('../service/oauth-server.ts');
  await revoke(url, refreshToken).catch((error: Error) => {
    out.note(`The login could not be ended at the service, and stays valid there until it expires: ${error.message}`);
  });
}
