/** Whether a page can be used with the keyboard alone, and stands still for people who asked for that. */
import type { Page } from 'playwright-core';

/** Runs in the page. */
const LOOK = `(() => {
  const found = [];
  const reachable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex]';
  for (const element of document.querySelectorAll(reachable)) {
    if (element.disabled || element.tabIndex < 0 || !element.checkVisibility() || element.localName === 'iframe') continue;
    const said = element.outerHTML.slice(0, 120);
    element.focus();
    if (document.activeElement !== element) { found.push('cannot be reached: ' + said); continue; }
    const { outlineStyle, outlineWidth, transitionDuration, animationName } = getComputedStyle(element);
    if (outlineStyle === 'none' || parseFloat(outlineWidth) < 2) found.push('does not show the focus: ' + said);
    if (transitionDuration.split(',').some((t) => parseFloat(t) > 0) || animationName !== 'none') found.push('moves: ' + said);
    const { left, right } = element.getBoundingClientRect();
    const isScrolled = element.closest('.scroll, pre') !== null;
    if (!isScrolled && (left < 0 || right > innerWidth + 1)) found.push('reaches out of the page: ' + said);
  }
  document.activeElement?.blur();
  return found;
})()`;

/** Call it with `reducedMotion: 'reduce'`. */
export async function keyboardFindings(page: Page): Promise<string[]> {
  // Browsers show the focus to people who use the keyboard.
  await page.keyboard.press('Tab');
  return (await page.evaluate(LOOK)) as string[];
}
