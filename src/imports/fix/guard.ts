/** When entries of an import can be corrected. */
import { ApiError } from '../../errors.ts';
import { type LockedImport, requireData, requireState } from '../control/action.ts';

const ALLOWED_STATES = ['running', 'paused', 'completed_with_errors', 'timed_out', 'cancelled'];

/** @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN, IMPORT-ERASED */
export function requireFixable(import_: LockedImport): void {
  if (import_.dryRun) throw dryRunKeepsNothing();
  requireState(import_, ALLOWED_STATES, 'corrected');
  requireData(import_);
}

function dryRunKeepsNothing(): ApiError {
  const message = 'A dry run keeps no entries. Correct them where you sent them from.';
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', message);
}
