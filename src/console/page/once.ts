/** The page that shows a new secret for the only time. It is an answer to a form, so it is in no address and no history. */
import { type Html, html } from '../../html.ts';
import { ONCE } from '../texts/frame.ts';
import { headline, notice } from './blocks.ts';

/** @param values names with what to copy, the secret among them @param back where to go on */
export function onceBody(
  title: string,
  values: readonly [string, string][],
  back: { href: string; text: string },
): Html {
  return html`${headline(title, back)}
${notice(ONCE.warning, 'warn')}
<section class="card">${values.map(
    ([name, value]) => html`<h2>${name}</h2><p><code class="shown">${value}</code></p>\n`,
  )}<p><a class="button" href="${back.href}">${ONCE.done}</a></p></section>`;
}
