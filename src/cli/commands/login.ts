/**
 * `muster login` and `muster logout`.
 *
 * Guarantee: a token is not shown while it is typed, and appears neither in the process list nor in a shell's history.
 */
import { command, type GivenOptions } from '../command.ts';
import { openApi } from '../service/api.ts';
import { withLock } from '../service/lock.ts';
import { type Me, nameOf, readMe, rolesOf, type Session } from '../service/session.ts';
import { isLoopback, keepLogin, type Login, readKept } from '../service/settings.ts';
import { readSecret } from '../terminal/ask.ts';
import { EXIT, Failure, Interrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

const OPTIONS = {
  browser: { type: 'boolean', default: true, describe: 'open the browser; --no-browser only prints the URL' },
  device: { type: 'boolean', describe: 'for a machine without a browser: enter a code in a browser elsewhere' },
  token: {
    type: 'boolean',
    describe: 'store a personal access token, typed without echo or read from standard input',
  },
} as const;

/** `muster login`: through a browser on this machine, through one elsewhere, or with an existing token. */
export const login = command({
  usage: 'login',
  describe: 'log in to a service and store the token for the other commands',
  options: OPTIONS,
  check: (parser) => parser.conflicts('device', 'token'),
  examples: [
    ['$0 login --url https://muster.example.com', 'with your browser'],
    ['$0 login --device', 'from a server, over ssh'],
    ['$0 login --token < token.txt', 'with the token that the first start of the service printed'],
  ],
  async run(session, options) {
    const { out, settings } = session;
    warnOfPlainHttp(out, settings.url);
    const login = await newLogin(session, options);
    const me = await checked(settings.url, login);
    await withLock(settings.path, () => keepLogin(settings.path, settings.url, login));
    tell(session, me);
  },
});

async function newLogin(
  { out, settings }: Session,
  { browser, device, token }: GivenOptions<typeof OPTIONS>,
): Promise<Login> {
  if (token) return { accessToken: await readTypedToken(out) };
  const { url } = settings;
  // Loaded only when needed: commands should start fast.
  const [{ findServer, loginOf, requireCliLogin }, { logInByBrowser, logInByDevice }] = await Promise.all([
    import('../service/oauth-server.ts'),
    import('../service/browser-login.ts'),
  ]);
  const server = await findServer(url);
  requireCliLogin(server, url, device === true);
  return loginOf(device ? await logInByDevice(server, out, url) : await logInByBrowser(server, out, { url, browser }));
}

/** @throws Failure when the service does not accept the token */
async function checked(url: string, { accessToken }: Login): Promise<Me> {
  return readMe(openApi(url, async () => accessToken)).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.id !== 'AUTH-TOKEN') throw error;
    throw new Failure(`The service at ${url} does not accept this token; nothing was stored.`, {
      exitCode: EXIT.denied,
      advice: 'It may have expired or belong to another service. `muster tokens create` creates a new one.',
    });
  });
}

function tell({ out, settings }: Session, me: Me): void {
  out.result({ url: settings.url, ...me });
  out.line(`Logged in at ${settings.url} as ${nameOf(me)}, ${rolesOf(me)}.`);
  out.line(`The token is stored in ${settings.path}.`);
  if (settings.token) out.note('MUSTER_TOKEN or --token-file takes precedence while it is set.');
}

function warnOfPlainHttp(out: Output, url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  out.note(`Warning: without HTTPS, tokens and passwords can be intercepted on the way to ${hostname}.`);
}

/** RFC 6750 section 2.1, up to the length that the service accepts. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

/** A token that a person types or a program pipes in. @throws Failure when the input is not a token */
async function readTypedToken(out: Output): Promise<string> {
  const text = (await readSecret(out, 'Token (not shown): ', new Interrupted('Login cancelled.'))).trim();
  if (TOKEN.test(text)) return text;
  throw wrongUsage(
    text === '' ? 'The token is empty.' : 'The token must be one word of printable ASCII characters.',
    'Type it, or pipe it in: muster login --token < file',
  );
}

/** `muster logout`: ends the login at the service and deletes the stored token. */
export const logout = command({
  usage: 'logout',
  describe: 'end the login at the service and delete the stored token',
  examples: [['$0 logout', 'from the service of the last login']],
  async run(session) {
    const { path, url } = session.settings;
    // Under the lock: the token to revoke must be the stored one, even if another command renews it meanwhile.
    const login = await withLock(path, () => forget(session));
    session.out.result({ url, loggedOut: login !== undefined });
    session.out.line(login ? `Logged out at ${url}.` : `You were not logged in at ${url}.`);
  },
});

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
