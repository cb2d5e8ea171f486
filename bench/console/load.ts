/**
 * `console-load`: what the first page of the console loads in a browser without a cache: compressed bytes, requests to
 * other sites, and what the browser reports about the Content-Security-Policy. Both must be none, or the bench fails.
 */
import type { CDPSession } from 'playwright-core';
import { type Context, type Result, rounded } from '../bench.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { openBrowser, requireChromium } from './browser.ts';
import { resultOf } from './result.ts';
import { openSession } from './session.ts';

const TARGET_KB = 60;
const OF_POLICY = /Content Security Policy|Trusted(?:HTML|Script)/;

export async function consoleLoad({ scope, say }: Context): Promise<Result[]> {
  const program = requireChromium();
  const stores = await startStores(scope, { redis: false });
  const service = await startService(scope, stores, 1);
  const session = await openSession(scope, service, stores);
  const context = await openBrowser(scope, program, service, session);
  const page = await context.newPage();
  const reports: string[] = [];
  page.on('console', (message) => OF_POLICY.test(message.text()) && reports.push(message.text()));
  const network = watchNetwork(await context.newCDPSession(page));
  say('console: the first load');
  await page.goto(`${service.baseUrl}/console`, { waitUntil: 'load' });
  const requests = await network();
  const foreign = requests.filter(({ url }) => new URL(url).origin !== new URL(service.baseUrl).origin);
  if (foreign.length > 0) throw new Error(`The console loads from another site: ${foreign[0]?.url}`);
  if (reports.length > 0) throw new Error(`The browser reports: ${reports[0]}`);
  const bytes = requests.reduce((sum, request) => sum + request.bytes, 0);
  return [
    resultOf({
      name: 'console-load',
      value: bytes / 1000,
      unit: 'KB',
      target: TARGET_KB,
      notes: [
        `first load of ${requests.length} files, as sent; target: at most ${TARGET_KB} KB`,
        'requests to other sites: 0; reports of the Content-Security-Policy: 0',
      ],
      extras: {
        files: requests.map(({ url, bytes }) => [new URL(url).pathname, rounded(bytes, 0)]),
        otherSites: foreign.length,
        reports: reports.length,
      },
    }),
  ];
}

interface Loaded {
  url: string;
  bytes: number;
}

/** Returns a function that waits for the end of all requests but event streams, which stay open. */
function watchNetwork(cdp: CDPSession): () => Promise<Loaded[]> {
  const open = new Map<string, string>();
  const loaded: Loaded[] = [];
  let wake = () => {};
  cdp.on('Network.requestWillBeSent', ({ requestId, request, type }) => {
    if (type !== 'EventSource') open.set(requestId, request.url);
  });
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    const url = open.get(requestId);
    if (url !== undefined) loaded.push({ url, bytes });
    open.delete(requestId);
    wake();
  });
  const enabled = cdp.send('Network.enable');
  return async () => {
    await enabled;
    while (open.size > 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return loaded;
  };
}
