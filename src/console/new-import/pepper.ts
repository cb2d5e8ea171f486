/**
 * The pepper of an old system, on the page that says which passwords keep working.
 *
 * It goes from the form straight to `_convert`, in a header: never into an address, a page or the plan.
 */
import { type Html, html } from '../../html.ts';
import { text } from '../../pages/fields.ts';
import { PEPPER_MODES } from '../../passwords/pepper-modes.ts';
import { PEPPER } from '../texts/new-import.ts';
import { type Frame, hrefOf } from './frame.ts';
import type { ShownDraft } from './shapes.ts';

/** As the API takes it, in bytes. */
const MOST_CHARACTERS = 1024;

/** Asks for the pepper; nothing for users without hashes, and for those that came in a request, which has named it. */
export function pepperForm(frame: Frame, { files, summary, pepper }: ShownDraft): Html | undefined {
  if (files.length === 0 || !summary || summary.hashes.length === 0) return undefined;
  return html`<details><summary>${pepper ? PEPPER.given(PEPPER.modes[pepper]) : PEPPER.ask}</summary>
<form method="post" action="${hrefOf(frame, 'check')}" autocomplete="off"><p class="soft small">${PEPPER.hint}</p>
<div class="field"><label for="pepper">${PEPPER.label}</label><input id="pepper" name="pepper" type="password" autocomplete="off" required maxlength="${MOST_CHARACTERS}"></div>
<div class="field"><label for="pepper-mode">${PEPPER.mode}</label><select id="pepper-mode" name="pepperMode">${PEPPER_MODES.map(
    (mode) =>
      html`<option value="${mode}"${mode === pepper ? html` selected` : undefined}>${PEPPER.modes[mode]}</option>`,
  )}</select></div><button class="quiet">${PEPPER.use}</button></form></details>`;
}

/** The headers of `_convert`; undefined when no pepper was typed. */
export function pepperHeaders(body: unknown): Record<string, string> | undefined {
  const pepper = text(body, 'pepper');
  if (pepper === '') return undefined;
  return {
    'password-pepper': Buffer.from(pepper).toString('base64'),
    'password-pepper-mode': text(body, 'pepperMode') || 'suffix',
  };
}
