/**
 * The login through a browser: on this machine by authorization code with PKCE (RFC 7636), redirected to a loopback port
 * (RFC 8252 section 7.3); on another machine by a code that is shown here and entered there (RFC 8628).
 *
 * Guarantee: a code is redeemed only with the state that was sent (RFC 6749 section 10.12) and from the issuer that was
 * asked (RFC 9207). The port is on 127.0.0.1, so other machines cannot reach it, and accepts a single request, which
 * must carry the state.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oidc from 'openid-client';
import { CLI_REDIRECT_URI, CLI_SCOPE } from '../../contract/own-clients.ts';
import { ownValue } from '../../platform/text/names.ts';
import { TimedOut, withTimeout } from '../../platform/timeouts.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { oauthFailure, type Server, type Tokens } from './oauth-server.ts';

const PATIENCE_MS = 15 * 60_000;

/**
 * Logs in through a browser of this machine.
 * @param browser whether to open one, or only to print the URL
 * @throws Failure when the login is refused, or not completed in time
 */
export async function logInByBrowser(
  server: Server,
  out: Output,
  { url, browser }: { url: string; browser: boolean },
): Promise<Tokens> {
  const state = oidc.randomState();
  const verifier = oidc.randomPKCECodeVerifier();
  const callback = await openCallback(state);
  let isLoggedIn = false;
  try {
    const address = await authorizationUrl(server, callback, { state, verifier });
    out.note(
      `Log in with your browser at this URL (for a browser elsewhere, use \`muster login --device\`):\n\n  ${address}\n`,
    );
    if (browser) openBrowser(address);
    const checks = { expectedState: state, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await oidc.authorizationCodeGrant(server, await callbackUrl(callback), checks);
    isLoggedIn = true;
    return tokens;
  } catch (error) {
    throw oauthFailure(url, 'Login failed', error);
  } finally {
    await callback.close(isLoggedIn);
  }
}

interface Secrets {
  state: string;
  verifier: string;
}

async function authorizationUrl(server: Server, { redirectUri }: Callback, secrets: Secrets): Promise<string> {
  const url = oidc.buildAuthorizationUrl(server, {
    redirect_uri: redirectUri,
    scope: CLI_SCOPE,
    state: secrets.state,
    code_challenge: await oidc.calculatePKCECodeChallenge(secrets.verifier),
    code_challenge_method: 'S256',
  });
  return url.href;
}

async function callbackUrl({ arrived }: Callback): Promise<URL> {
  return withTimeout(arrived, PATIENCE_MS, 'the browser').catch((error) => {
    throw error instanceof TimedOut ? tooLate() : error;
  });
}

function tooLate(): Failure {
  return new Failure('The login was not completed in the browser in time.', {
    exitCode: EXIT.denied,
    advice: 'Run `muster login` again, with --device if your browser is on another machine.',
  });
}

/** Logs in by a code that is entered in a browser on any machine. @throws Failure when it is refused, or not entered in time */
export async function logInByDevice(server: Server, out: Output, url: string): Promise<Tokens> {
  try {
    const device = await oidc.initiateDeviceAuthorization(server, { scope: CLI_SCOPE });
    const minutes = Math.round(device.expires_in / 60);
    const lines = [
      'In a browser on any machine, open',
      '',
      `  ${device.verification_uri}`,
      '',
      'and enter this code:',
      '',
      `  ${device.user_code}`,
      '',
      `The code is valid for ${minutes} minutes.`,
    ];
    out.note(lines.join('\n'));
    return await oidc.pollDeviceAuthorizationGrant(server, device);
  } catch (error) {
    throw explained(url, error);
  }
}

const ENDED: Readonly<Record<string, string>> = {
  access_denied: 'The login was refused in the browser.',
  expired_token: 'The code has expired.',
};

function explained(url: string, error: unknown): Failure {
  const ended = error instanceof oidc.ResponseBodyError ? ownValue(ENDED, error.error) : undefined;
  if (!ended) return oauthFailure(url, 'Login failed', error);
  return new Failure(ended, { exitCode: EXIT.denied, advice: 'Run `muster login --device` again.' });
}

interface Callback {
  /** Where the browser is sent back to. */
  redirectUri: string;
  /** The URL that the browser returned with. */
  arrived: Promise<URL>;
  /** Shows the outcome in the browser, and stops listening. */
  close(isLoggedIn: boolean): Promise<void>;
}

/** Waits for the browser to return with a code; the page shows the outcome once it is known. @param state that the request must carry */
async function openCallback(state: string): Promise<Callback> {
  const arrived = Promise.withResolvers<URL>();
  let visitor: ServerResponse | undefined;
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', redirectUri);
    const isOurs = url.pathname === redirectUri.pathname && url.searchParams.get('state') === state;
    if (req.method !== 'GET' || !isOurs || visitor) return sendPage(res, 404, NOT_OURS);
    visitor = res;
    arrived.resolve(url);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirectUri = new URL(CLI_REDIRECT_URI);
  redirectUri.port = String((server.address() as AddressInfo).port);
  return {
    redirectUri: redirectUri.href,
    arrived: arrived.promise,
    async close(isLoggedIn) {
      if (visitor && !visitor.destroyed) await answered(visitor, isLoggedIn);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answered(res: ServerResponse, isLoggedIn: boolean): Promise<void> {
  // `close` is also emitted when the browser has gone away meanwhile.
  const over = once(res, 'close');
  sendPage(res, isLoggedIn ? 200 : 400, isLoggedIn ? LOGGED_IN : FAILED);
  await over;
}

/** A page for the browser: a sentence, and nothing to load. */
interface Said {
  title: string;
  text: string;
}

const LOGGED_IN: Said = { title: 'You are logged in', text: 'You can close this page and return to your terminal.' };
const FAILED: Said = { title: 'Login failed', text: 'Your terminal shows the reason. You can close this page.' };
const NOT_OURS: Said = {
  title: 'Page not found',
  text: 'This page belongs to a login that was started elsewhere.',
};

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  // The URL contains a code.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // An open connection would keep the command from ending.
  Connection: 'close',
};

/** @param said trusted text, without markup */
function sendPage(res: ServerResponse, status: number, { title, text }: Said): void {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Muster</title>
</head>
<body>
<main>
<h1>${title}</h1>
<p role="status">${text}</p>
</main>
</body>
</html>
`;
  res.writeHead(status, HEADERS).end(page);
}

/** Opens a URL in the browser of this machine, if there is one; the URL is printed as well. */
function openBrowser(url: string): void {
  const [program, ...args] = opener();
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  // Without such a program or a desktop, the person copies the URL.
  child.on('error', () => {});
  child.unref();
}

function opener(): [program: string, ...args: string[]] {
  if (process.platform === 'darwin') return ['open'];
  // Unlike `start`, it accepts a URL with an `&` as it is.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}
