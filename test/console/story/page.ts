/** What pages of the story show, as numbers and texts. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** Drops files as a person does. */
export async function dropFiles(page: Page, files: Record<string, string>): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
    return transfer;
  })()`);
  await page.locator('upload-files .drop').dispatchEvent('drop', { dataTransfer: transfer });
}

/** Goes to the next step of a new import. */
export async function next(page: Page, step: string): Promise<void> {
  await page
    .locator('main a.button, main button')
    .filter({ hasText: `Next: ${step}` })
    .click();
}

/** The numbers of the step Decide, by name. */
export async function factsOf(page: Page, within = 'main section >> nth=0'): Promise<Record<string, string>> {
  const facts = page.locator(within).locator('.facts');
  const names = await facts.locator('dt').allTextContents();
  const values = await facts.locator('dd').allTextContents();
  return Object.fromEntries(names.map((name, i) => [name, String(values[i])]));
}

export interface ShownCause {
  count: string;
  name: string;
  first: number[];
}

/** The causes of the table, with the rows that are named as examples. */
export async function causesShown(page: Page, table: string): Promise<ShownCause[]> {
  const rows = await page.locator(`${table} tbody tr`).all();
  const shown = await Promise.all(
    rows.map(async (row) => ({
      count: String(await row.locator('td').first().textContent()),
      name: String(await row.locator('strong').textContent()),
      examples: String(await row.locator('.small').first().textContent()),
    })),
  );
  return shown.map(({ count, name, examples }) => ({ count, name, first: rowsIn(examples) }));
}

/**
 * `no. 1,041` among others on the step Decide, and `For example no. 88, 1,041` on the page of the causes. A user whom it
 * repeats, `(no. 88, same as no. 7)` or `88 (same as no. 7)`, is none of them.
 */
function rowsIn(text: string): number[] {
  const rows = text.replace(/,? \(?same as no\. [\d,]+\)?/g, '');
  return rows.split(/ · |, /).map((one) => Number(/([\d,]+)\)?$/.exec(one)?.[1]?.replaceAll(',', '')));
}

export interface Progress {
  total: string;
  succeeded: number;
  skipped: number;
  failed: number;
  open: number;
  /** Percent of the bar: succeeded, skipped, failed. */
  widths: number[];
  /** The chart's line; empty without a chart. */
  line: string;
}

/** Texts, bar and chart of the page of an import, all at the same moment. */
export async function progressOf(page: Page): Promise<Progress> {
  const seen = (await page.evaluate(`(() => {
    const text = (name) => document.querySelector('[data-text="' + name + '"]')?.textContent ?? '';
    const rects = document.querySelectorAll('#progress .bar rect');
    return {
      total: text('done').split(' of ')[1],
      ...Object.fromEntries(['succeeded', 'skipped', 'failed', 'open'].map((name) => [name, Number(text(name).replaceAll(',', ''))])),
      widths: [...rects].slice(0, 3).map((rect) => Number(rect.getAttribute('width'))),
      line: document.querySelector('[data-points="chart.line"]')?.getAttribute('points') ?? '',
    };
  })()`)) as Progress;
  return seen;
}

/** The bar and the chart show what the numbers say. */
export function assertDrawn({ succeeded, skipped, failed, widths, line }: Progress, total: number): void {
  assert.deepEqual(
    widths,
    [succeeded, skipped, failed].map((n) => Math.round((n / total) * 10_000) / 100),
  );
  const heights = line.split(' ').map((point) => Number(point.split(',')[1]));
  assert(
    heights.some((y) => y < 120),
    `the chart rises above its ground: ${line}`,
  );
}

/** Waits for the state of the import. */
export async function badge(page: Page, name: string): Promise<void> {
  await page.locator('#badge .state').getByText(name, { exact: true }).waitFor();
}
