/**
 * `console-load`: what the first page of the console loads in a browser without a cache: compressed bytes, requests to
 * other sites, and what the browser reports about the Content-Security-Policy. Both must be none, or the bench fails.
 * `console-tab`: the JavaScript heap of the page while it uploads a large file, and the rate it reaches.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { type Context, type Result, rounded } from '../bench.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { openBrowser, openSession, requireChromium, resultOf } from './session.ts';
import { DEFAULT_SIZE, exportFile, MB, SLICE } from './upload.ts';

const TARGET_KB = 60;
const TARGET_MB = 150;
const READ_EVERY_MS = 100;
/** How long the whole upload may take. */
const MOST_MS = 20 * 60_000;
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

export async function consoleTab({ scope, say, size: megabytes = DEFAULT_SIZE }: Context): Promise<Result[]> {
  const program = requireChromium();
  const stores = await startStores(scope, { redis: false });
  const service = await startService(scope, stores, 1);
  const session = await openSession(scope, service, stores);
  const context = await openBrowser(scope, program, service, session);
  const path = join(stores.dir, 'people.csv');
  await writeExport(path, megabytes * MB);
  const page = await context.newPage();
  await page.goto(`${service.baseUrl}/console/imports/new`);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Performance.enable');
  const idle = await heapOf(cdp);
  say(`console: a page uploads ${megabytes} MB`);
  const start = performance.now();
  const peak = await peakHeap(cdp, async () => {
    await page.locator('.drop input').setInputFiles(path);
    await page.locator('.upload.done').waitFor({ timeout: MOST_MS });
  });
  const rate = rounded(megabytes / ((performance.now() - start) / 1000), 1);
  return [
    resultOf({
      name: 'console-tab',
      value: peak / MB,
      unit: 'MB',
      target: TARGET_MB,
      notes: [
        `peak of the page's heap while it uploads ${megabytes} MB at ${rate} MB/s, idle ${rounded(idle / MB, 1)} MB`,
        `target: at most ${TARGET_MB} MB`,
      ],
      extras: { megabytes, idleMegabytes: rounded(idle / MB, 1), megabytesPerSecond: rate },
    }),
  ];
}

async function writeExport(path: string, size: number): Promise<void> {
  const file = exportFile(size);
  const handle = await open(path, 'w');
  try {
    for (let from = 0; from < size; from += SLICE) await handle.write(file.slice(from));
  } finally {
    await handle.close();
  }
}

/** The most bytes while `work` runs. */
async function peakHeap(cdp: CDPSession, work: () => Promise<void>): Promise<number> {
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  done.catch(() => {}); // thrown below
  let peak = 0;
  do {
    peak = Math.max(peak, await heapOf(cdp));
    await sleep(READ_EVERY_MS);
  } while (!isDone);
  await done;
  return peak;
}

/** Bytes. Buffers outside the heap of JavaScript count, too. */
async function heapOf(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return value('JSHeapUsedSize') + value('ArrayBufferContents');
}
