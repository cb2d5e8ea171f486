import type { Argv, CommandModule } from 'yargs';
import { readTypedToken } from '../login/typed-token.ts';
import { openApi } from '../service/api.ts';
import { withLock } from '../service/lock.ts';
import { type Me, nameOf, readMe, rolesOf } from '../service/me.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { keepLogin, type Login } from '../service/settings.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

interface Options extends CommonOptions {
  browser: boolean;
  device?: boolean | undefined;
  token?: boolean | undefined;
}

/** `muster login`: through a browser on this machine, through one elsewhere, or with an existing token. */
export const login: CommandModule<CommonOptions, Options> = {
  command: 'login',
  describe: 'log in to a service and store the token for the other commands',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .options({
        browser: { type: 'boolean', default: true, describe: 'open the browser; --no-browser only prints the URL' },
        device: { type: 'boolean', describe: 'for a machine without a browser: enter a code in a browser elsewhere' },
        token: {
          type: 'boolean',
          describe: 'store a personal access token, typed without echo or read from standard input',
        },
      })
      .conflicts('device', 'token')
      .example('$0 login --url https://muster.example.com', 'with your browser')
      .example('$0 login --device', 'from a server, over ssh')
      .example('$0 login --token < token.txt', 'with the token that the first start of the service printed'),
  async handler(options) {
    const session = await openSession(options);
    const { out, settings } = session;
    warnOfPlainHttp(out, settings.url);
    const login = await newLogin(session, options);
    const me = await checked(settings.url, login);
    await withLock(settings.path, () => keepLogin(settings.path, settings.url, login));
    tell(session, me);
  },
};

async function newLogin({ out, settings }: Session, { browser, device, token }: Options): Promise<Login> {
  if (token) return { accessToken: await readTypedToken(out) };
  const { url } = settings;
  // Loaded only when needed: commands should start fast.
  const [{ findServer, loginOf, requireCliLogin }, { logInByBrowser }, { logInByDevice }] = await Promise.all([
    import('../service/oauth-server.ts'),
    import('../login/code-flow.ts'),
    import('../login/device-flow.ts'),
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

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

function warnOfPlainHttp(out: Output, url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || LOOPBACK.has(hostname)) return;
  out.note(`Warning: without HTTPS, tokens and passwords can be intercepted on the way to ${hostname}.`);
}
