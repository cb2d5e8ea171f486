/**
 * HTML from template literals.
 *
 * Guarantee: every value in an `html` template is escaped for text and for quoted attributes, unless the value is
 * itself the result of an `html` template.
 */

/** Markup that is safe to put into a page unchanged. */
export interface Html {
  readonly markup: string;
}

type Value = Html | string | number | undefined | Value[];

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Builds markup; arrays are joined, undefined is empty. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  let markup = parts[0] as string;
  for (const [i, value] of values.entries()) markup += toMarkup(value) + parts[i + 1];
  return { markup };
}

/** Escapes text for use between tags or inside a quoted attribute. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => ENTITIES[c] as string);
}

function toMarkup(value: Value): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.map(toMarkup).join('');
  return typeof value === 'object' ? value.markup : escapeHtml(String(value));
}
