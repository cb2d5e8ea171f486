/** The states of items: as the table has them, and as they read by the state of their import. */

/** Without their prefix `ITEM_STATE_`. */
export const ITEM_STATES = ['PENDING', 'SUCCEEDED', 'SKIPPED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'UNDONE'] as const;

/** What a pending item of an import in this state reads as: nothing of an import that is undone will come. */
export function openState(importState: string): 'pending' | 'timed_out' | 'cancelled' {
  if (importState === 'timed_out') return importState;
  return ['cancelled', 'undoing', 'undone'].includes(importState) ? 'cancelled' : 'pending';
}

/** The same of an import as it is shown, one of ITEM_STATES. @param state `IMPORT_STATE_…` */
export function openStateOf({ state }: { state: string }): string {
  return openState(state.replace('IMPORT_STATE_', '').toLowerCase()).toUpperCase();
}

/** The state in the table for one of ITEM_STATES; null when no item of this import can have it. */
export function storedState(of: { state: string }, state: string | undefined): string | undefined | null {
  if (state === undefined) return undefined;
  if (['PENDING', 'TIMED_OUT', 'CANCELLED'].includes(state)) return openStateOf(of) === state ? 'pending' : null;
  return state.toLowerCase();
}
