/** Chromium for the benches of the console, signed in. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { Skipped } from '../bench.ts';
import type { Scope } from '../scope.ts';
import type { Service } from '../testbed/testbed.ts';
import type { Session } from './session.ts';

/** The one without windows takes a quarter of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium'];
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

/** @throws Skipped where the machine has no Chromium */
export function requireChromium(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
  if (found === undefined) throw new Skipped('chromium is not on this machine');
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
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
