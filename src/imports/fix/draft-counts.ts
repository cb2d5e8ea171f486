/** How corrected entries change what a draft counts of its entries. Pure. */
import { slowMs } from '../../users/slow-hashes.ts';
import type { ConversionResult, DraftOrg } from '../draft/draft.ts';
import { bodySources, type UsedSources } from '../intake/body-sources.ts';
import type { Item } from '../items.ts';
import { type HashCount, openHashLint } from '../validate/hash-counts.ts';

export interface EntryChange {
  /** The organization's number in the draft. */
  org: number;
  /** Whether the entry was invalid before. */
  wasFailed: boolean;
  before: unknown;
  /** Absent if the user was left out. */
  after?: { item: Item; entry: unknown };
}

/** The result of the conversion with these changes of entries; corrected names may now be those of another entry. */
export function countChanges(result: ConversionResult, changes: readonly EntryChange[]): ConversionResult {
  const orgs = result.orgs.map((org) => ({ ...org }));
  const sources = bodySources(undefined);
  let { slowestMs } = result;
  for (const { org, wasFailed, after } of changes) {
    const tally = orgs[org] as DraftOrg;
    if (wasFailed) tally.failed--;
    if (!after) tally.skipped = (tally.skipped ?? 0) + 1;
    else if (after.item.state === 'failed') tally.failed++;
    else if (after.item.passwordHash !== null) {
      slowestMs = Math.max(slowestMs, slowMs(after.item.passwordHash));
      sources.take(org, after.item);
    }
  }
  return {
    ...result,
    orgs,
    slowestMs,
    failed: orgs.reduce((sum, { failed }) => sum + failed, 0),
    hasDuplicates: result.hasDuplicates || changes.some(({ after }) => after !== undefined),
    hashes: hashesAfter(result.hashes as HashCount[], changes),
    sources: [...(result.sources ?? []), ...sources.used()] satisfies UsedSources,
  };
}

function hashesAfter(hashes: readonly HashCount[], changes: readonly EntryChange[]): HashCount[] {
  const [lost, gained] = [openHashLint(), openHashLint()];
  for (const { before, after } of changes) {
    lost.see(before);
    if (after) gained.see(after.entry);
  }
  const found = hashes.map((count) => ({ ...count }));
  const change = (sign: 1 | -1) => (count: HashCount) => {
    const known = found.find(({ scheme, verifiable }) => scheme === count.scheme && verifiable === count.verifiable);
    if (known) known.users += sign * count.users;
    else if (sign === 1) found.push(count);
  };
  lost.list().forEach(change(-1));
  gained.list().forEach(change(1));
  return found.filter(({ users }) => users > 0);
}
