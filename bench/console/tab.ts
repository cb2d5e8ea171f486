/** `console-tab`: the JavaScript heap of the page while it uploads a large file, and the rate it reaches. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { type Context, type Result, rounded } from '../bench.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { openBrowser, requireChromium } from './browser.ts';
import { exportFile, SLICE } from './export-file.ts';
import { resultOf } from './result.ts';
import { openSession } from './session.ts';
import { DEFAULT_SIZE, MB } from './upload.ts';

const TARGET_MB = 150;
const READ_EVERY_MS = 100;
/** Of the whole upload. */
const MOST_MS = 20 * 60_000;

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
  let isDone = false;
  const done = page
    .locator('.drop input')
    .setInputFiles(path)
    .then(() => page.locator('.upload.done').waitFor({ timeout: MOST_MS }))
    .finally(() => {
      isDone = true;
    });
  done.catch(() => {}); // thrown below
  let peak = idle;
  while (!isDone) {
    peak = Math.max(peak, await heapOf(cdp));
    await sleep(READ_EVERY_MS);
  }
  await done;
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

/** Bytes. Buffers outside the heap of JavaScript count, too. */
async function heapOf(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return value('JSHeapUsedSize') + value('ArrayBufferContents');
}
