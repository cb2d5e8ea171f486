/** axe-core, which finds what people with assistive technology could not use on a page. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** Spares descriptions of what is in order, and a selector for each element. */
const BRIEF = { resultTypes: ['violations', 'incomplete'], selectors: false };

/**
 * Violations and incomplete checks on the page as it is shown.
 * @param options of `axe.run`; default: all rules
 */
export async function axeProblems(page: Page, options: object = {}): Promise<string[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(AXE);
  const run = `axe.run(${JSON.stringify({ ...options, ...BRIEF })})`;
  const told = `({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')`;
  return page.evaluate(`${run}.then((found) => [...found.violations, ...found.incomplete].map(${told}))`);
}
