/** Real Chromium for tests: one browser per file, one context per page. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram } from './runner/programs.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  // A third less of the processor: no drawing by a process of its own, and one process for the pages of a test.
  '--disable-software-rasterizer',
  '--process-per-site',
  '--renderer-process-limit=1',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Longest wait in the browser, enough for a busy machine. */
const TIMEOUT_MS = 60_000;

export interface TestBrowser {
  /**
   * A page with its own cookies, closed with the test. The test fails if the browser reports a problem: with the
   * content security policy, a script, a missing file. Its message about a response with status 4xx or 503 does not count.
   */
  openPage(t: TestContext, options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** Starts Chromium; `undefined` on a machine without it, where `requireOrSkip(t, 'chromium')` skips the tests. */
export async function launchBrowser(): Promise<TestBrowser | undefined> {
  const executablePath = findProgram('chromium');
  if (!executablePath) return undefined;
  const browser = await chromium.launch({ executablePath, args: ARGS });
  return { openPage: (t, options) => openPage(browser, t, options), close: () => browser.close() };
}

async function openPage(browser: Browser, t: TestContext, options: BrowserContextOptions = {}): Promise<Page> {
  // The pages are in the language that the browser asks for, which is that of the machine otherwise.
  const context = await browser.newContext({ viewport: { width: 900, height: 700 }, locale: 'en-US', ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  const complaints: string[] = [];
  context.on('page', (page) => collectComplaints(page, complaints));
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  return context.newPage();
}

/** The browser's message about an intended error response, or about a service that was stopped on purpose. */
const ANSWERED = /the server responded with a status of (?:4\d\d|503)|net::ERR_CONNECTION_REFUSED/;

function collectComplaints(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !ANSWERED.test(message.text())) complaints.push(message.text());
  });
  page.on('requestfailed', (request) => {
    // An event stream ends with its page.
    if (request.resourceType() === 'eventsource') return;
    // An upload is interrupted on purpose, and continues.
    if (request.method() === 'PATCH' || request.method() === 'HEAD') return;
    // A page that is left for the next one aborts what it still loads, such as its own reload or its live parts.
    const isLoad = request.method() === 'GET';
    if (isLoad && request.failure()?.errorText === 'net::ERR_ABORTED') return;
    complaints.push(`${request.url()} ${request.failure()?.errorText}`);
  });
}

/** Saves screenshots for people, if SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string, options: { fullPage?: boolean } = {}): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, ...options });
}
