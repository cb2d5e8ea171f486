/**
 * `_fix`: applies one remedy to all entries of a cause, in batches.
 *
 * Guarantee: each batch is one transaction with its audit event; an entry is changed only if the remedy removes the
 * cause from it. A call works for at most MOST_MS and then says where to continue, so no request hangs. Repeating it is
 * harmless: corrected entries no longer have the cause. On crash: the batches before are done, the others are not.
 */
import type { Db } from '../../db/pool.ts';
import { ApiError, type ErrorBody } from '../../errors.ts';
import type { FixAnswer, FixExample, Remedy } from '../answers.ts';
import { orgsOf } from '../status/items-page.ts';
import { causesOf, violationsOf } from './cause.ts';
import { FAILURES, type Failure, type Fixable, type FixDeps } from './fixable.ts';
import { mergePatch } from './merge-patch.ts';
import { CHANGED_FIELD, LEAVING_OUT, patchOf } from './remedies.ts';
import { shownEntry } from './shown-entry.ts';
import { type ChangedItem, type FixRules, hasEntry, judged, type StoredRow, storedEntry } from './stored.ts';

export interface FixRequest {
  /** A cause of `readCauses`. */
  cause: string;
  remedy: Remedy;
  /** Required by `user-name-as-email`. */
  domain?: string | undefined;
  /** Only says what it would do. */
  dryRun?: boolean | undefined;
  /** Where an earlier call ended. */
  from?: number | undefined;
}

const MOST_MS = 10_000;
/** Entries that are changed at a time. */
const BATCH = 250;
/** A batch ends after this many bytes; a larger entry is a batch of its own. */
const BATCH_BYTES = 4 * 2 ** 20;
const EXAMPLES = 5;

/** @throws ApiError 400 IMPORT-REMEDY when the remedy does not apply to the cause, and as `act` of the target */
export async function fixCause(deps: FixDeps, target: Fixable, request: FixRequest): Promise<FixAnswer> {
  const work = new Work(deps, target, request, await target.rules());
  await work.requireAllowed();
  const until = performance.now() + MOST_MS;
  for (let from = request.from ?? 0; ; ) {
    const page = await target.failures(from);
    const matching = page.filter(({ error }) => causesOf(error).some(({ cause }) => cause === request.cause));
    for (const batch of batchesOf(matching)) {
      if (performance.now() > until) return work.answer(batch[0] as number);
      await work.take(batch);
    }
    if (page.length < FAILURES) return work.answer(null);
    from = (page.at(-1)?.ordinal ?? 0) + 1;
    if (performance.now() > until) return work.answer(from);
  }
}

/** The ordinals, in batches of bounded size. */
function batchesOf(failures: readonly Failure[]): number[][] {
  const batches: number[][] = [];
  let bytes = 0;
  for (const failure of failures) {
    const batch = batches.at(-1);
    bytes += failure.bytes;
    if (batch && batch.length < BATCH && bytes <= BATCH_BYTES) batch.push(failure.ordinal);
    else {
      batches.push([failure.ordinal]);
      bytes = failure.bytes;
    }
  }
  return batches;
}

class Work {
  private changed = 0;
  private unchanged = 0;
  private readonly examples: FixExample[] = [];
  private readonly deps: FixDeps;
  private readonly target: Fixable;
  private readonly request: FixRequest;
  private readonly rules: FixRules;

  constructor(deps: FixDeps, target: Fixable, request: FixRequest, rules: FixRules) {
    [this.deps, this.target, this.request, this.rules] = [deps, target, request, rules];
  }

  /** With nothing changed, so that a refused request leaves no event. */
  requireAllowed(): Promise<void> {
    return this.target.act('', async () => false);
  }

  async take(ordinals: number[]): Promise<void> {
    const { remedy, dryRun } = this.request;
    const rows = (await this.target.rows(ordinals)).filter(({ state }) => state === 'failed');
    for (const { error } of rows) this.requireApplies(error);
    if (LEAVING_OUT.includes(remedy)) {
      await this.show(rows.map((row) => ({ row })));
      this.changed += dryRun ? rows.length : await this.write((db) => this.target.leaveOut(db, ordinals));
      return;
    }
    const better = rows.flatMap((row) => this.corrected(row) ?? []);
    await this.show(better);
    const n = dryRun ? better.length : await this.writeAll(better);
    this.changed += n;
    this.unchanged += rows.length - n;
  }

  private requireApplies(error: ErrorBody | null): void {
    const found = causesOf(error).find(({ cause }) => cause === this.request.cause);
    if (!found || found.remedies.includes(this.request.remedy)) return;
    const message = `This remedy does not apply to the cause. Use one of ${found.remedies.join(', ')}.`;
    throw new ApiError('FAILED_PRECONDITION', 'IMPORT-REMEDY', message);
  }

  /** The changed item, unless the entry would still have the cause. */
  private corrected(row: StoredRow): (ChangedItem & { before: unknown; after: unknown }) | undefined {
    if (!hasEntry(row)) return undefined;
    const { secrets } = this.deps;
    const entry = storedEntry(row, secrets);
    const patch = patchOf(this.request.remedy, entry, this.request.domain);
    if (!patch) return undefined;
    const before = shownEntry(entry);
    const better = mergePatch(entry, patch);
    const after = shownEntry(better);
    const item = judged(better, row, this.rules, secrets);
    const stays = violationsOf(item.error).length > 0 && causesOf(item.error).some((c) => this.isBlocked(c));
    return stays ? undefined : { row, item, entry: better, before, after };
  }

  /** Whether the changed field is still invalid, for this cause or another. */
  private isBlocked({ cause, field }: { cause: string; field?: string }): boolean {
    const changed = CHANGED_FIELD[this.request.remedy];
    return cause === this.request.cause || (field !== undefined && changed !== undefined && field.startsWith(changed));
  }

  private writeAll(better: ChangedItem[]): Promise<number> {
    if (better.length === 0) return Promise.resolve(0);
    return this.write(async (db) => (await this.target.write(db, better)).length);
  }

  /** One transaction. */
  private async write(change: (db: Db) => Promise<number>): Promise<number> {
    const { cause, remedy } = this.request;
    let users = 0;
    await this.target.act('import.cause.fixed', async (db) => {
      users = await change(db);
      return users > 0 && { cause, remedy, users };
    });
    return users;
  }

  private async show(items: { row: StoredRow; before?: unknown; after?: unknown }[]): Promise<void> {
    if (!this.request.dryRun || this.examples.length >= EXAMPLES || items.length === 0) return;
    const orgs = await orgsOf(this.deps.pool, this.target.of.importId);
    const field = CHANGED_FIELD[this.request.remedy];
    for (const { row, before, after } of items.slice(0, EXAMPLES - this.examples.length)) {
      const user = { index: row.ordinal, orgId: orgs.get(row.org_index) ?? '', userId: row.user_id ?? '' };
      const example = { ...user, userName: row.user_name ?? '' };
      this.examples.push(field ? { ...example, field, before: at(before, field), after: at(after, field) } : example);
    }
  }

  answer(next: number | null): FixAnswer {
    const { changed, unchanged, examples } = this;
    return { changed, unchanged, ...(this.request.dryRun ? { examples } : {}), next };
  }
}

/** The value at a path such as `user.email.email`; null when there is none. */
function at(entry: unknown, path: string): unknown {
  let value = entry;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value ?? null;
}
