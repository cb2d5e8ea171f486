/** What stands beside the users of an import: organizations, who did what, downloads, warnings. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { count, percent, time } from '../page/format.ts';
import { EVENTS, ONE } from '../texts/import.ts';
import { bar, widths } from './bar.ts';
import { type Counts, type Progress, type Result, settled } from './shapes.ts';

export interface ImportEvent {
  type: string;
  creationDate: string;
  actor: { kind: string; id?: string };
  object?: { type: string; id: string };
}

/** Organizations that are shown. */
const MOST = 50;

export function organizations({ orgs }: Result, names: ReadonlyMap<string, string>): Html {
  return html`<section class="card"><h2>${ORGANIZATIONS(orgs.length)}</h2><ul class="plain">
${orgs
  .slice(0, MOST)
  .map(
    ({ orgId, counts }) =>
      html`<li><div>${names.get(orgId) ?? orgId} <span class="soft small" data-text="${keyOf(orgId)}">${progressOf(counts)}</span></div>${bar(keyOf(orgId), counts)}</li>\n`,
  )}</ul></section>`;
}

/** What changes of the organizations while the import runs. */
export function organizationsState({ orgs }: Progress): {
  text: Record<string, string>;
  bars: Record<string, number[]>;
} {
  const shown = orgs.slice(0, MOST);
  return {
    text: Object.fromEntries(shown.map(({ orgId, counts }) => [keyOf(orgId), progressOf(counts)])),
    bars: Object.fromEntries(shown.map(({ orgId, counts }) => [keyOf(orgId), widths(counts)])),
  };
}

/** The name of an organization's text and bar in live updates. */
function keyOf(orgId: string): string {
  return `org.${orgId}`;
}

function progressOf(counts: Counts): string {
  return `${percent(settled(counts), counts.total)} of ${count(counts.total)}`;
}

const ORGANIZATIONS = (number: number) => (number === 1 ? 'Organization' : `Organizations (${count(number)})`);

export function events(all: readonly ImportEvent[], userId: string): Html {
  const who = ({ actor }: ImportEvent) =>
    actor.id === userId ? ONE.you : actor.kind === 'system' ? ONE.system : actor.id;
  return html`<section class="card"><h2>${ONE.events}</h2>
${
  all.length === 0
    ? html`<p class="soft">${ONE.noEvents}</p>`
    : html`<ol class="log">${all.map(
        (event) =>
          html`<li><span><strong>${who(event)}</strong> ${EVENTS[event.type] ?? event.type}</span>${time(event.creationDate)}</li>\n`,
      )}</ol>`
}</section>`;
}

export function downloads(at: At, { importId }: Result): Html {
  const href = (format: string) => at(`/api/admin/v1/imports/${importId}/report?format=${format}`);
  return html`<section class="card"><h2>${ONE.downloads}</h2><p class="buttons">
${['csv', 'ndjson'].map((format) => html`<a class="button quiet small" href="${href(format)}" download>${format.toUpperCase()}</a>\n`)}</p></section>`;
}

export function warnings({ warnings: all, webhook }: Result): Html {
  return html`${
    all.length === 0
      ? undefined
      : html`<section class="card"><h2>${ONE.warnings}</h2><p class="soft">${ONE.fields}</p><ul class="plain">
${all.map((w) => html`<li><code>${w.path ?? w.field ?? w.message}</code>${w.count ? html` <span class="soft small">${ONE.ignored(count(w.count))}</span>` : undefined}</li>\n`)}</ul></section>`
  }${webhook && html`<section class="card"><h2>${ONE.webhook}</h2><p>${webhook.state}${webhook.lastError && html`: ${webhook.lastError}`}</p></section>`}`;
}
