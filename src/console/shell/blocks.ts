import type { Request } from 'express';
import { findOrgs } from '../../directory/organizations.ts';
import type { Db } from '../../platform/db/pool.ts';
import { type Html, html } from '../../platform/html/layout.ts';
import { SOURCES } from '../../sources/registry.ts';
import { type Counts, type Progress, settled, stateOf } from '../shapes.ts';
import { ONE } from '../texts/import.ts';
import { CHECK_STATES, DRAFT_STATES, IMPORT_STATES } from '../texts/imports.ts';
/** The name of a system as people write it. */
export function titleOf(source: string): string {
  return SOURCES.find(({ name }) => name === source)?.title ?? source;
}

/** Markup that several screens share: notices, states, fields of forms, lists of facts. */

/** A sentence above the content. `done` is read out by screen readers, `bad` interrupts them. */
export function notice(text: string | undefined, look: 'done' | 'bad' | 'warn' = 'done'): Html | undefined {
  if (!text) return undefined;
  if (look === 'bad') return html`<p class="notice bad" role="alert">${text}</p>`;
  return html`<p class="notice${look === 'warn' ? ' warn' : ''}" role="status">${text}</p>`;
}

export interface StateName {
  name: string;
  /** A class of `.state`: `good`, `bad`, `warn`, `still`; empty for one that is under way. */
  look: string;
}

export function state({ name, look }: StateName): Html {
  return html`<span class="state ${look}">${name}</span>`;
}

export type Fact = [name: string, value: Html | string | undefined];

/** Names with their values; those without a value are left out. */
export function facts(list: readonly Fact[]): Html {
  return html`<dl class="facts wide">
${list.map(([name, value]) =>
  value === undefined || value === '' ? undefined : html`<div class="minor"><dt>${name}</dt><dd>${value}</dd></div>\n`,
)}</dl>`;
}

/** A heading with a link to the screen above it, and buttons. */
export function headline(title: string, above?: { href: string; text: string }, buttons?: Html): Html {
  return html`${above && html`<p class="crumb"><a href="${above.href}">${above.text}</a></p>`}
<div class="headline"><h1>${title}</h1>${buttons && html`<div class="buttons">${buttons}</div>`}</div>`;
}

export interface Field {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string | undefined;
  /** What is wrong with the value. */
  wrong?: string | undefined;
  isRequired?: boolean;
  /** Of the input, such as `url`. Default: `text`. */
  type?: string;
}

/** A field of a form, with its hint and what is wrong with it. */
export function textField({ name, label, value = '', hint, wrong, isRequired, type = 'text' }: Field): Html {
  const described = [hint && `${name}-hint`, wrong && `${name}-wrong`].filter((id) => id).join(' ');
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="off"${isRequired ? html` required` : undefined}${
    described ? html` aria-describedby="${described}"` : undefined
  }${wrong ? html` aria-invalid="true"` : undefined}>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${wrong && html`<p class="wrong" id="${name}-wrong">${wrong}</p>`}</div>`;
}

/** Choices of which one is taken. @param options values with their names */
export function selectField(label: string, name: string, options: readonly [string, string][], value: string): Html {
  return html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">
${options.map(([one, text]) => html`<option value="${one}"${one === value ? html` selected` : undefined}>${text}</option>\n`)}</select></div>`;
}

/** A parameter of the address; empty if it is missing or repeated. */
export function parameter(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** `?a=1&b=2` of the values that are not empty. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

/** Numbers and times as the console shows them. Times are in UTC, as the server does not know the reader's zone. */

const NUMBERS = new Intl.NumberFormat('en');

export function count(value: number): string {
  return NUMBERS.format(value);
}

/** Never 100 % before everything is done. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '100 %';
  return `${Math.floor((part / whole) * 100)} %`;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `2026-11-23 13:02 UTC`; the machine-readable time has seconds. */
export function time(iso: string | undefined): Html | undefined {
  if (!iso) return undefined;
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** `13:02:05`. */
export function clock(iso: string): string {
  return iso.slice(11, 19);
}

/** Names of organizations, for pages that show users of several. */

/**
 * @param ids organizations that the person may see
 * @returns their names by id; of one that does not exist, its id
 */
export async function orgNames(db: Db, ids: readonly string[]): Promise<(id: string) => string> {
  const found = await findOrgs(db, [...new Set(ids)]);
  const names = new Map(found.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/** The bar of an import and the badge of a state. */

const PARTS = ['succeeded', 'skipped', 'failed', 'undone'] as const;

/** Widths of the parts in percent of the bar, in the order of PARTS. */
export function widths(counts: Counts): number[] {
  const { total } = counts;
  return PARTS.map((part) => (total === 0 ? 0 : Math.round((counts[part] / total) * 10_000) / 100));
}

/** @param key the name of the bar in live updates */
export function bar(key: string, counts: Counts, look = ''): Html {
  const all = widths(counts);
  const label = `${percent(settled(counts), counts.total)}: ${PARTS.filter((part) => counts[part] > 0)
    .map((part) => `${count(counts[part])} ${ONE[part].toLowerCase()}`)
    .join(', ')}`;
  const before = (i: number) => all.slice(0, i).reduce((a, b) => a + b, 0);
  return html`<svg class="bar ${look}" role="img" aria-label="${label}" data-bar="${key}" preserveAspectRatio="none" viewBox="0 0 100 10">
${PARTS.map((part, i) => html`<rect class="${part}" x="${before(i)}" y="0" width="${all[i]}" height="10"/>`)}</svg>`;
}

/** The state of an import. A dry run that found problems did what it is for, so it has names and colours of its own. */
export function importBadge(of: Progress): Html {
  if (!of.dryRun) return badge(of);
  const found = CHECK_STATES[stateOf(of)]?.(of.counts.failed, count(of.counts.failed));
  return found ? html`<span class="state ${found.look}">${found.name}</span>` : badge(of);
}

export function badge(of: { state: string }, states = IMPORT_STATES): Html {
  const { name, look } = states[stateOf(of)] ?? DRAFT_STATES[stateOf(of)] ?? { name: stateOf(of), look: 'still' };
  return html`<span class="state ${look}">${name}</span>`;
}
