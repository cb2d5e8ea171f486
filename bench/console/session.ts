/** What the benches of the console share: a signed-in person, with or without Chromium, and the form of a figure. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type BrowserContext, chromium } from 'playwright-core';
import { addSession } from '../../src/console/session-store.ts';
import { type Result, rounded, Skipped } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { findExecutable } from '../testbed/programs.ts';
import type { Service, Stores } from '../testbed/testbed.ts';

export interface Session {
  /** The cookie that a browser without https has. */
  cookie: { name: string; value: string };
  /** Loads a page. @throws Error unless the answer is 200 */
  page(path: string): Promise<string>;
  /** Opens a stream of live updates, which ends with the scope. @param onText called for what arrives */
  stream(path: string, onText: (text: string) => void): Promise<void>;
}

export async function openSession(scope: Scope, { baseUrl }: Service, { pool, keys }: Stores): Promise<Session> {
  const value = await addSession(pool, { accessToken: keys.token, idToken: '', name: 'Bench' });
  const cookie = { name: 'muster_console', value };
  const agent = await scope.start(
    async () => new Agent({ keepAlive: true }),
    async (opened) => opened.destroy(),
  );
  const get = async (path: string): Promise<IncomingMessage> => {
    const headers = { accept: 'text/html,*/*', cookie: `${cookie.name}=${cookie.value}` };
    const req = request(baseUrl + path, { agent, headers }).end();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    if (res.statusCode !== 200) throw new Error(`The console answered ${res.statusCode} to ${path}.`);
    return res;
  };
  return {
    cookie,
    page: async (path) => text(await get(path)),
    async stream(path, onText) {
      const res = await get(path);
      res.setEncoding('utf8').on('data', onText);
      res.on('error', () => {}); // the scope ends it
    },
  };
}

/** The one without windows takes a quarter of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium'];
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

/** @throws Skipped where the machine has no Chromium */
export function requireChromium(): string {
  const found = findExecutable(NAMES);
  if (found === undefined) throw new Skipped('chromium is not on this machine');
  return found;
}

/** A browser with nothing in its cache and the cookie of the session. It ends with the scope. */
export async function openBrowser(
  scope: Scope,
  executablePath: string,
  { baseUrl }: Service,
  { cookie }: Session,
): Promise<BrowserContext> {
  const browser = await scope.start(
    () => chromium.launch({ executablePath, args: ARGS }),
    (opened) => opened.close(),
  );
  const context = await browser.newContext();
  await context.addCookies([{ ...cookie, url: baseUrl, httpOnly: true, sameSite: 'Lax' }]);
  return context;
}

/** A figure of the console and its target, which takes the place of a ceiling. */
interface Figure {
  name: string;
  value: number;
  unit: string;
  target: number;
  notes: string[];
  extras?: Record<string, unknown>;
}

export function resultOf({ name, value, unit, target, notes, extras = {} }: Figure): Result {
  const shown = rounded(value, 2);
  return { name, value: shown, unit, ceiling: target, ratio: rounded(shown / target, 3), notes, extras };
}
