/**
 * One failed item: shows its entry for editing, and corrects it by a merge patch.
 *
 * Guarantee: the patch is validated by the validator of the import. If a field that it sets is invalid, nothing is
 * changed and every invalid field is named. On crash before the commit: nothing has happened.
 */
import { ApiError, type FieldViolation } from '../../errors.ts';
import type { ItemWithEntry } from '../answers.ts';
import { orgsOf, toView } from '../status/items-page.ts';
import { violationsOf } from './cause.ts';
import type { Fixable, FixDeps } from './fixable.ts';
import { mergePatch, patchedPaths } from './merge-patch.ts';
import { invalidPatch, readPatch } from './read-patch.ts';
import { shownEntry } from './shown-entry.ts';
import { hasEntry, judged, type StoredRow, storedEntry } from './stored.ts';

/** @throws ApiError 404 IMPORT-ITEM-NOT-FOUND */
export async function readItem({ pool, secrets }: FixDeps, target: Fixable, index: number): Promise<ItemWithEntry> {
  const row = await rowOf(target, index);
  const view = toView(row, target.of, await orgsOf(pool, target.of.importId));
  return hasEntry(row) ? { ...view, entry: shownEntry(storedEntry(row, secrets)) } : view;
}

/**
 * Corrects the entry. If other fields are still invalid, the item keeps the error that names them.
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
