/**
 * Waits on this machine for the browser to return with a code (RFC 8252 section 7.3).
 *
 * Guarantee: it listens on 127.0.0.1, so other machines cannot reach it. It accepts a single request, which must carry
 * the state that was sent, and responds once it is known whether the login succeeded.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLI_REDIRECT_URI } from '../../identity/oauth/cli-client.ts';
import { type Said, sendPage } from './page.ts';

export interface Callback {
  /** Where the browser is sent back to. */
  redirectUri: string;
  /** The URL that the browser returned with. */
  arrived: Promise<URL>;
  /** Shows the outcome in the browser, and stops listening. */
  close(isLoggedIn: boolean): Promise<void>;
}

const LOGGED_IN: Said = { title: 'You are logged in', text: 'You can close this page and return to your terminal.' };
const FAILED: Said = { title: 'Login failed', text: 'Your terminal shows the reason. You can close this page.' };
const NOT_OURS: Said = {
  title: 'Page not found',
  text: 'This page belongs to a login that was started elsewhere.',
};

/** @param state that the request must carry */
export async function openCallback(state: string): Promise<Callback> {
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
  // Also emitted when the browser has gone away meanwhile.
  const over = once(res, 'close');
  sendPage(res, isLoggedIn ? 200 : 400, isLoggedIn ? LOGGED_IN : FAILED);
  await over;
}
