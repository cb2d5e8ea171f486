/** The page that shows a new secret for the only time. It is an answer to a form, so it is in no address and no history. */
import { type Html, html } from '../../platform/text/html.ts';
import { ONCE } from '../texts/frame.ts';
import { headline, notice } from './blocks.ts';

/** For the buttons that copy. */
export const ONCE_SCRIPTS: readonly string[] = ['copy-text.ts'];

/** @param values names with what to copy, the secret among them @param back where to go on */
export function secretShownOnce(
  title: string,
  values: readonly [string, string][],
  back: { href: string; text: string },
): Html {
  return html`${headline(title, back)}
${notice(ONCE.warning, 'warn')}
<section class="card">${values.map(
    ([name, value]) => html`<h2>${name}</h2><copy-text said="${ONCE.copied}"><p><code class="shown">${value}</code></p>
<p><button type="button" class="quiet small" hidden>${ONCE.copy}<span class="sr"> ${name}</span></button></p></copy-text>\n`,
  )}<p><a class="button" href="${back.href}">${ONCE.done}</a></p></section>`;
}
