/** Whether a page fits windows between a phone and a wide screen, with every word in one piece. */
import type { Page } from 'playwright-core';

/** A phone, a tablet upright, and a window beside another one. */
const WIDTHS = [320, 800, 1024];

/**
 * Runs in the page. A word is of letters only, as names of programs, ids and addresses may be broken anywhere, and words
 * at their hyphens.
 */
const BROKEN_WORDS = `(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: text } = walker;
    const { parentElement: around } = text;
    if (around.closest('code, pre, svg, .mono') || !around.checkVisibility()) continue;
    // For screen readers only.
    if (around.closest('span, div, label, thead, caption')?.offsetWidth <= 1) continue;
    for (const { 0: token, index } of text.data.matchAll(/\\S+/gu)) {
      if (/[\\d@._/:=].|\\p{Ll}\\p{Lu}/u.test(token)) continue;
      for (const word of token.matchAll(/\\p{L}{2,}/gu)) {
        const range = document.createRange();
        range.setStart(text, index + word.index);
        range.setEnd(text, index + word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push(word[0]);
      }
    }
  }
  return found;
})()`;

/** What is wider than the window, and words that are broken. It leaves the window at another size. */
export async function widthFindings(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 600 });
    const shown = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (shown !== width) found.push(`is ${shown} wide at ${width}`);
    const broken = await page.evaluate<string[]>(BROKEN_WORDS);
    if (broken.length > 0) found.push(`breaks at ${width}: ${broken.slice(0, 5).join(', ')}`);
  }
  return found;
}
