import type { CommandModule } from 'yargs';
import { withLock } from '../service/lock.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { keepLogin, type Login, lockPath, readKept } from '../service/settings.ts';

/** `muster logout`: ends the login at the service and forgets it here. */
export const logout: CommandModule<CommonOptions, CommonOptions> = {
  command: 'logout',
  describe: 'end the login at the service and forget it',
  builder: (parser) => parser.example('$0 logout', 'of the service of the last login'),
  async handler(options) {
    const session = await openSession(options);
    const { url } = session.settings;
    // Inside, as the token that is ended must be the one that is kept, whatever renews it meanwhile.
    const login = await withLock(lockPath(), () => forget(session, url));
    session.out.result({ url, loggedOut: login !== undefined });
    session.out.line(login ? `Logged out at ${url}.` : `Nobody was logged in at ${url}.`);
  },
};

async function forget(session: Session, url: string): Promise<Login | undefined> {
  const login = (await readKept()).logins[url];
  if (!login) return undefined;
  await end(session, url, login);
  await keepLogin(url, undefined);
  return login;
}

/** A token that was given by hand is others' as well: it stays good. */
async function end({ out }: Session, url: string, { refreshToken }: Login): Promise<void> {
  if (refreshToken === undefined) return;
  const { revoke } = await import('../service/oauth-server.ts');
  await revoke(url, refreshToken).catch((error: Error) => {
    out.note(`The service could not be told, so there the login ends by itself: ${error.message}`);
  });
}
