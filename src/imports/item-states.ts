/**
 * The states of items. The API shows a pending item of a timed-out or cancelled import as timed out or cancelled, while
 * the table keeps it `pending`; these functions convert between the two.
 */

/** Without their prefix `ITEM_STATE_`. */
export const ITEM_STATES = ['PENDING', 'SUCCEEDED', 'SKIPPED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'UNDONE'] as const;

/** The states of imports, without their prefix `IMPORT_STATE_`. */
export const IMPORT_STATES = [
  ...(['RUNNING', 'PAUSED', 'UNDOING', 'SUCCEEDED', 'COMPLETED_WITH_ERRORS'] as const),
  ...(['TIMED_OUT', 'CANCELLED', 'UNDONE'] as const),
] as const;

/** How the API shows a pending item of an import in this state: from an undo on, as cancelled. */
export function openState(importState: string): 'pending' | 'timed_out' | 'cancelled' {
  if (importState === 'timed_out') return importState;
  return ['cancelled', 'undoing', 'undone'].includes(importState) ? 'cancelled' : 'pending';
}

/** The same for an import as the API shows it; one of ITEM_STATES. @param state `IMPORT_STATE_…` */
export function openStateOf({ state }: { state: string }): string {
  return openState(state.replace('IMPORT_STATE_', '').toLowerCase()).toUpperCase();
}

/** The state in the table for one of ITEM_STATES; null when no item of this import can have it. */
export function storedState(of: { state: string }, state: string | undefined): string | undefined | null {
  if (state === undefined) return undefined;
  if (['PENDING', 'TIMED_OUT', 'CANCELLED'].includes(state)) return openStateOf(of) === state ? 'pending' : null;
  return state.toLowerCase();
}
