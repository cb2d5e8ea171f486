/**
 * Which remedies help: tries each on the entries of a cause. A remedy is offered only if it changes an entry and the entry
 * is better for it.
 *
 * Guarantee: an entry counts as corrected only if the changed field is valid and its user gets no id and no name that
 * somebody has.
 */
import { CHANGED_FIELD, causesOf, LEAVING_OUT, patchOf, violationsOf } from '../../contract/causes.ts';
import type { Cause, CountedCause } from '../../contract/import-types.ts';
import type { Remedy } from '../../contract/remedies.ts';
import {
  type ChangedItem,
  type FixRules,
  hasEntry,
  judged,
  mergePatch,
  type StoredRow,
  shownEntry,
  storedEntry,
} from './entry.ts';
import { FAILURES, type Fixable, type FixDeps } from './fixable.ts';
import { earlierRows, holdersOf } from './holders.ts';

export interface Correction {
  cause: string;
  remedy: Remedy;
  domain?: string | undefined;
  rules: FixRules;
  /** Names that earlier entries got, and that these may not get: filled here. */
  given: Set<string>;
}

/** A changed item with its entry as it may be shown, before and after. */
export interface CorrectedItem extends ChangedItem {
  before: unknown;
  after: unknown;
}

/** The entries that a remedy corrects. */
export async function correctedRows(
  deps: FixDeps,
  target: Fixable,
  rows: readonly StoredRow[],
  correction: Correction,
): Promise<CorrectedItem[]> {
  const better = rows.flatMap((row) => corrected(deps, row, correction) ?? []);
  const renamed = better.filter(isRenamed);
  const holders = await holdersOf(deps.pool, target, renamed);
  const asked = new Set(renamed);
  return better.filter((one) => {
    if (!asked.has(one) || one.item.state === 'failed') return true;
    const name = `${one.row.org_index} ${one.item.userNameKey}`;
    if (holders.has(one.row.ordinal) || correction.given.has(name)) return false;
    correction.given.add(name);
    return true;
  });
}

/** An entry that keeps its name is judged by the next check, also if it has the name of another. */
function isRenamed({ row, before, after }: CorrectedItem): boolean {
  const name = (entry: unknown) => {
    const { userName, email } = (entry as { user?: { userName?: unknown; email?: { email?: unknown } } }).user ?? {};
    return userName ?? email?.email;
  };
  return row.error?.details[0]?.id === 'USER-NAME-TAKEN' || name(before) !== name(after);
}

/** The changed item, unless the entry would still have the cause. */
function corrected({ secrets }: FixDeps, row: StoredRow, correction: Correction): CorrectedItem | undefined {
  if (!hasEntry(row)) return undefined;
  const { remedy, domain, rules } = correction;
  const entry = storedEntry(row, secrets);
  const patch = patchOf(remedy, entry, domain);
  if (!patch) return undefined;
  const better = mergePatch(entry, patch);
  const item = judged(better, row, rules, secrets);
  const stays = violationsOf(item.error).length > 0 && causesOf(item.error).some((one) => isBlocked(one, correction));
  return stays ? undefined : { row, item, entry: better, before: shownEntry(entry), after: shownEntry(better) };
}

/** Whether the changed field is still invalid, for this cause or another. */
function isBlocked({ cause, field }: Pick<Cause, 'cause' | 'field'>, correction: Correction): boolean {
  const changed = CHANGED_FIELD[correction.remedy];
  return cause === correction.cause || (field !== undefined && changed !== undefined && field.startsWith(changed));
}

/** The most failed users, users of a cause, users of all causes, and bytes of entries that are tried. */
const MOST = { failed: 5 * FAILURES, ofCause: 250, users: 2000, bytes: 16 * 2 ** 20 };

/**
 * Causes with the remedies that help, and how many users each fixes. While users still fail, and where
 * no entry is stored, causes stay as they are.
 */
export async function helpsOf(deps: FixDeps, target: Fixable, causes: CountedCause[]): Promise<CountedCause[]> {
  if (target.of.state === 'IMPORT_STATE_RUNNING' || causes.length === 0) return causes;
  const rules = await target.rules();
  const samples = await sampled(target, causes);
  const tried: CountedCause[] = [];
  for (const cause of causes) tried.push(await tryRemedies(deps, target, cause, samples.get(cause.cause) ?? [], rules));
  return tried;
}

/** The first users of each cause, by ordinal. */
async function sampled(target: Fixable, causes: readonly CountedCause[]): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>(causes.map(({ cause }) => [cause, []]));
  let [users, bytes] = [0, 0];
  for (let [from, read] = [0, 0]; read < MOST.failed; ) {
    const page = await target.failures(from);
    for (const failure of page) {
      for (const { cause } of causesOf(failure.error)) {
        const sample = samples.get(cause);
        if (!sample || sample.length >= MOST.ofCause || users >= MOST.users) continue;
        if (bytes + failure.bytes > MOST.bytes) return samples;
        sample.push(failure.ordinal);
        users++;
        bytes += failure.bytes;
      }
    }
    if (page.length < FAILURES) break;
    from = (page.at(-1)?.ordinal ?? 0) + 1;
    read += page.length;
  }
  return samples;
}

/** In place of a domain that nobody has named yet: whether addresses become valid does not depend on it. */
const SOME_DOMAIN = 'example.com';

async function tryRemedies(
  deps: FixDeps,
  target: Fixable,
  cause: CountedCause,
  sample: readonly number[],
  rules: FixRules,
): Promise<CountedCause> {
  const rows = (await target.rows(sample)).filter((row) => row.state === 'failed' && hasEntry(row));
  if (rows.length === 0) return cause;
  const fixes: { remedy: Remedy; users: number }[] = [];
  for (const remedy of cause.remedies.filter((one) => !LEAVING_OUT.includes(one))) {
    const correction = { cause: cause.cause, remedy, domain: SOME_DOMAIN, rules, given: new Set<string>() };
    fixes.push({ remedy, users: (await correctedRows(deps, target, rows, correction)).length });
  }
  // Entries that were not tried may differ.
  const isWhole = rows.length >= cause.count;
  const helping = fixes.filter(({ users }) => users > 0 || !isWhole);
  const leaving = cause.remedies.filter((one) => LEAVING_OUT.includes(one));
  const earlier = await earlierRows(deps.pool, target, rows.slice(0, cause.first.length));
  const first = cause.first.map((user) => {
    const index = earlier.get(user.index);
    return index === undefined ? user : { ...user, earlier: index };
  });
  const remedies = [...helping.map(({ remedy }) => remedy), ...leaving];
  return { ...cause, first, remedies, fixes: helping, examined: rows.length };
}
