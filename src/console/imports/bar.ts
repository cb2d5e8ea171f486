/** The bar of an import and the badge of a state. */
import { type Html, html } from '../../html.ts';
import { count, percent } from '../page/format.ts';
import { ONE } from '../texts/import.ts';
import { CHECK_STATES, DRAFT_STATES, IMPORT_STATES } from '../texts/imports.ts';
import { type Counts, type Progress, settled, stateOf } from './shapes.ts';

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
