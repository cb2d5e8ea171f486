/** What one remedy would do to all users of a cause, and the button that does it. */
import { type Html, html } from '../../html.ts';
import type { CountedCause, FixAnswer } from '../../imports/answers.ts';
import type { At } from '../page/at.ts';
import { count } from '../page/format.ts';
import { FIX, REMEDIES } from '../texts/fix.ts';
import { nameOf } from './shapes.ts';

export interface RemedyView {
  importId: string;
  cause: CountedCause;
  remedy: string;
  domain: string;
  /** Absent until the domain is known. */
  preview: FixAnswer | undefined;
  problem: string | undefined;
}

/** Remedies that import fewer users. */
const LEAVES_OUT: ReadonlySet<string> = new Set(['keep-first', 'leave-out']);

export function remedyPage(at: At, view: RemedyView): Html {
  const { importId, cause, remedy, domain, preview, problem } = view;
  const causes = at(`/imports/${importId}/fix`);
  const path = `${causes}/${cause.cause}/${remedy}`;
  return html`<p class="crumb"><a href="${causes}">${FIX.heading}</a></p>
<section class="message"><h1>${REMEDIES[remedy] ?? remedy}</h1><p>${nameOf(cause)}</p><p class="soft">${FIX.concerns(count(cause.count))}</p>
${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
${remedy === 'user-name-as-email' ? domainForm(path, domain, problem) : undefined}
${preview && (preview.changed === 0 && preview.next === null ? helpsNobody(causes) : effects(path, view, preview))}</section>`;
}

function helpsNobody(causes: string): Html {
  return html`<p>${FIX.helpsNobody}</p><p><a class="button quiet" href="${causes}">${FIX.back}</a></p>`;
}

function effects(path: string, { remedy, domain }: RemedyView, preview: FixAnswer): Html {
  const { changed, unchanged } = preview;
  const does = LEAVES_OUT.has(remedy) ? FIX.omitted : FIX.changed;
  return html`<ul class="does"><li>${does(count(changed))}</li>
${unchanged > 0 ? html`<li>${FIX.unchanged(count(unchanged))}</li>` : undefined}</ul>
${examples(preview)}<form method="post" action="${path}"><input type="hidden" name="domain" value="${domain}">
<div class="buttons"><button>${FIX.apply(count(changed))}</button></div></form>`;
}

function domainForm(path: string, domain: string, problem: string | undefined): Html {
  return html`<form method="get" action="${path}"><div class="field"><label for="domain">${FIX.domain}</label>
<input id="domain" name="domain" value="${domain}" autocomplete="off" required aria-describedby="domain-hint"${problem ? html` aria-invalid="true"` : undefined}>
<p class="hint" id="domain-hint">${FIX.domainHint}</p></div><p><button class="quiet">${FIX.preview}</button></p></form>`;
}

function examples({ examples: all = [] }: FixAnswer): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${FIX.examples}"><table><caption>${FIX.examples}</caption>
<thead><tr><th scope="col">${FIX.user}</th><th scope="col">${FIX.before}</th><th scope="col">${FIX.after}</th></tr></thead>
<tbody>${all.map(({ userName, before, after }) => html`<tr><td>${userName}</td><td>${shown(before)}</td><td>${after === undefined ? FIX.leftOut : shown(after)}</td></tr>`)}</tbody></table></div>`;
}

/** A value of an example; of a hash, its scheme. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  const { scheme } = value as { scheme?: string };
  return scheme ? FIX.hashOf(scheme) : FIX.withheld;
}
