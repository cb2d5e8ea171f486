/**
 * The login through a browser on this machine: authorization code with PKCE (RFC 7636), redirected to a loopback port.
 *
 * Guarantee: a code is redeemed only with the state that was sent (RFC 6749 section 10.12) and from the issuer that was
 * asked (RFC 9207).
 * On crash: while waiting, no token has been issued.
 */

import * as oidc from 'openid-client';
import { CLI_SCOPE } from '../../identity/oauth/cli-client.ts';
import { TimedOut, withTimeout } from '../../timeout.ts';
import { oauthFailure, type Server, type Tokens } from '../service/oauth-server.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { type Callback, openCallback } from './callback.ts';
import { openBrowser } from './open-browser.ts';

const PATIENCE_MS = 15 * 60_000;

/** @param browser whether to open one on this machine */
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
