/**
 * Corrects failed items: `_fix` applies one remedy to all entries of a cause, in batches; one item is shown with its
 * entry for editing, and corrected by a merge patch.
 *
 * Guarantee: each batch is one transaction with its audit event; an entry is changed only if the remedy removes the
 * cause from it, and gives its user no name that somebody has. A call works for at most MOST_MS and then says where to continue, so no request hangs. Repeating it
 * is harmless: corrected entries no longer have the cause. A patch is validated by the validator of the import: if a
 * field that it sets is invalid, nothing is changed and every invalid field is named.
 * On crash: the batches before are done, the others are not.
 */
import { CHANGED_FIELD, causesOf, LEAVING_OUT, violationsOf } from '../../contract/causes.ts';
import type { FixAnswer, FixExample, ItemWithEntry } from '../../contract/import-types.ts';
import type { Remedy } from '../../contract/remedies.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError, type ErrorBody, type FieldViolation } from '../../platform/errors.ts';
import { toView } from '../status/items.ts';
import { openPredictions } from '../status/sign-ins.ts';
import {
  type ChangedItem,
  type FixRules,
  hasEntry,
  invalidPatch,
  judged,
  mergePatch,
  patchedPaths,
  readPatch,
  type StoredRow,
  shownEntry,
  storedEntry,
} from './entry.ts';
import { FAILURES, type Failure, type Fixable, type FixDeps } from './fixable.ts';
import { correctedRows } from './helps.ts';
import { earlierRows, holdersOf, holderText, type Named } from './holders.ts';

const MOST_MS = 10_000;
/** Entries that are changed at a time. */
const BATCH = 250;
/** A batch ends after this many bytes; a larger entry is a batch of its own. */
const BATCH_BYTES = 4 * 2 ** 20;
const EXAMPLES = 5;

export interface FixRequest {
  /** A cause that `openCausesReader` returned. */
  cause: string;
  remedy: Remedy;
  /** Required by `user-name-as-email`. */
  domain?: string | undefined;
  /** Only says what it would do. */
  dryRun?: boolean | undefined;
  /** Where an earlier call ended. */
  from?: number | undefined;
}

/**
 * Applies a remedy.
 * @throws ApiError 400 IMPORT-REMEDY when the remedy does not apply to the cause, and as `act` of the target
 */
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
  /** The names that this call has given to users. */
  private readonly given = new Set<string>();

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
    const better = await correctedRows(this.deps, this.target, rows, {
      ...this.request,
      rules: this.rules,
      given: this.given,
    });
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
    const { orgs } = await openPredictions(this.deps.pool, this.target.of);
    const { remedy, cause } = this.request;
    for (const { row, before, after } of items.slice(0, EXAMPLES - this.examples.length)) {
      // Of the names that a remedy may shorten, the one that failed.
      const ofCause = causesOf(row.error).find((one) => one.cause === cause)?.field;
      const field = remedy === 'shorten-name' ? ofCause : CHANGED_FIELD[remedy];
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

/** The item, with its entry as it may be shown. @throws ApiError 404 IMPORT-ITEM-NOT-FOUND */
export async function readItem({ pool, secrets }: FixDeps, target: Fixable, index: number): Promise<ItemWithEntry> {
  const row = await rowOf(target, index);
  const earlier = (await earlierRows(pool, target, [row])).get(index);
  const view = {
    ...toView(row, target.of, await openPredictions(pool, target.of)),
    ...(earlier === undefined ? {} : { earlier }),
  };
  return hasEntry(row) ? { ...view, entry: shownEntry(storedEntry(row, secrets)) } : view;
}

/**
 * Corrects the entry of an item. If other fields are still invalid, the item keeps the error that names them.
 * @param sent a JSON merge patch of the entry: `{"user":{"email":{"email":"ann@example.com"}}}`
 * @throws ApiError 400 naming every invalid field, IMPORT-ITEM-STATE and as `act` of the target; 404; 409 when the item
 *   was changed meanwhile
 */
export async function fixItem(
  deps: FixDeps,
  target: Fixable,
  index: number,
  sent: Record<string, unknown>,
): Promise<ItemWithEntry> {
  const { secrets } = deps;
  const patch = readPatch(sent);
  const row = await rowOf(target, index);
  await target.act('import.item.corrected', async (db) => {
    requireFailed(row);
    const entry = mergePatch(storedEntry(row, secrets), patch);
    const item = judged(entry, row, await target.rules(), secrets);
    if (item.state === 'failed') requireGood(violationsOf(item.error), patchedPaths(patch));
    else await requireFree(deps, target, { row, item }, patchedPaths(patch));
    const written = await target.write(db, [{ row, item, entry }]);
    if (written.length === 0) throw changedMeanwhile();
    return { index, fields: patchedPaths(patch) };
  });
  return readItem(deps, target, index);
}

async function rowOf(target: Fixable, index: number): Promise<StoredRow> {
  const [row] = await target.rows([index]);
  if (!row) throw new ApiError('NOT_FOUND', 'IMPORT-ITEM-NOT-FOUND', 'The import has no item with this index.');
  return row;
}

/** Fields that the patch does not touch may stay invalid; they are corrected by another one. */
function requireGood(violations: FieldViolation[], patched: string[]): void {
  const isTouched = ({ field }: FieldViolation) =>
    patched.some(
      (path) =>
        [path, `${path}.`, `${path}[`].some((p) => field === path || field.startsWith(p)) ||
        path.startsWith(`${field}.`),
    );
  if (violations.some(isTouched)) throw invalidPatch(violations);
}

/**
 * @throws ApiError 400 if somebody has the id or the name of the user. The patch need not have set it: the import would
 *   refuse the user all the same
 */
async function requireFree({ pool }: FixDeps, target: Fixable, changed: Named, patched: string[]): Promise<void> {
  const holder = (await holdersOf(pool, target, [changed])).get(changed.row.ordinal);
  if (!holder) return;
  const { item } = changed;
  // Without a user name, the address is the name.
  const isAddress = holder.field === 'user.userName' && item.state === 'pending' && item.userName === item.email;
  const fields = [holder.field, ...(isAddress ? ['user.email.email'] : [])];
  const field = fields.find((name) => patched.includes(name)) ?? holder.field;
  throw invalidPatch([{ field, description: holderText(holder) }]);
}

function requireFailed(row: StoredRow): void {
  if (row.state !== 'failed') {
    const message = 'Only a failed item can be corrected.';
    throw new ApiError('FAILED_PRECONDITION', 'IMPORT-ITEM-STATE', message);
  }
  if (!hasEntry(row)) throw new ApiError('FAILED_PRECONDITION', 'IMPORT-ERASED', 'The data of this user was erased.');
}

function changedMeanwhile(): ApiError {
  return new ApiError('ABORTED', 'IMPORT-ITEM-CHANGED', 'The item was changed meanwhile. Read it again.');
}
