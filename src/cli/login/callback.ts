/**
 * Waits on this machine for the browser to come back with a code (RFC 8252 section 7.3).
 *
 * Guarantee: nobody from outside reaches it, as it listens on 127.0.0.1; the one visit that is taken brings the state that
 * was sent along. Its answer waits until it is known whether the login worked.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLI_REDIRECT_URI } from '../../identity/oauth/cli-client.ts';
import { type Said, sendPage } from './page.ts';

export interface Callback {
  /** Where the browser is to be sent. */
  redirectUri: string;
  /** The address that it came to. */
  arrived: Promise<URL>;
  /** Tells the person at the browser how it ended, and stops listening. */
  close(isLoggedIn: boolean): Promise<void>;
}

const LOGGED_IN: Said = { title: 'You are logged in', text: 'You can close this page and go back to your terminal.' };
const FAILED: Said = { title: 'Nobody was logged in', text: 'Your terminal says why. You can close this page.' };
const NOT_OURS: Said = {
  title: 'There is nothing here',
  text: 'This page belongs to a login that was begun elsewhere.',
};

/** @param state that the visit has to bring */
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
  // Of a browser that went away meanwhile, too.
  const over = once(res, 'close');
  sendPage(res, isLoggedIn ? 200 : 400, isLoggedIn ? LOGGED_IN : FAILED);
  await over;
}
