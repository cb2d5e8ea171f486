/**
 * The states of imports, from the draft to the end, and of their items: which of them are terminal, in which of them each
 * action is possible, and to which it leads. All transitions are drawn in ../README.md.
 *
 * The names are listed in contract/import-results.ts; here they are in small letters, as the database has them. The
 * states in END_STATES are terminal: nothing changes any more without a new action of a caller.
 */
import type { DRAFT_STATES, IMPORT_STATES, ITEM_STATES } from '../../contract/import-results.ts';
import { ApiError } from '../../platform/errors.ts';
import { END_STATES } from '../../platform/telemetry.ts';

export type ImportState = Lowercase<(typeof IMPORT_STATES)[number]>;
/** The states of an import until it starts, those of the kind `draft`; `checked` is never written, see ../README.md. */
export type DraftState = Lowercase<(typeof DRAFT_STATES)[number]>;
export type WrittenState = Exclude<DraftState, 'checked'>;

interface Allowed {
  /** The states in which the action is possible, in the order in which an error names them. */
  states: readonly (ImportState | DraftState)[];
  /** The state to which it leads, if it changes the state. */
  to?: ImportState | WrittenState;
  /** Completes "An import in state … cannot be …". */
  done: string;
}

export const ACTIONS = {
  // On a draft:
  addFile: { states: ['uploading', 'unreadable', 'draft', 'checked'], to: 'uploading', done: 'given another file' },
  addPiece: { states: ['uploading'], done: 'sent more of a file' },
  removeFile: { states: ['uploading', 'unreadable', 'draft', 'checked'], to: 'uploading', done: 'changed' },
  convert: {
    states: ['uploading', 'converting', 'unreadable', 'draft', 'checked'],
    to: 'converting',
    done: 'converted',
  },
  check: { states: ['draft', 'checked'], to: 'checking', done: 'checked' },
  start: { states: ['draft', 'checked'], to: 'running', done: 'started' },
  discard: {
    states: ['uploading', 'converting', 'unreadable', 'draft', 'checking', 'checked', 'discarded'],
    to: 'discarded',
    done: 'discarded',
  },
  fixDraft: { states: ['checked'], done: 'corrected' },
  tryPassword: { states: ['draft', 'checking', 'checked'], done: 'asked about a password' },
  // On an import that has started:
  cancel: { states: ['running', 'paused'], to: 'cancelled', done: 'cancelled' },
  pause: { states: ['running'], to: 'paused', done: 'paused' },
  resume: { states: ['timed_out', 'cancelled', 'paused'], to: 'running', done: 'resumed' },
  retry: { states: ['completed_with_errors', 'timed_out', 'cancelled', 'paused'], to: 'running', done: 'retried' },
  fix: { states: ['running', 'paused', 'completed_with_errors', 'timed_out', 'cancelled'], done: 'corrected' },
  undo: {
    states: ['paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'],
    to: 'undoing',
    done: 'undone',
  },
  sendMails: {
    states: ['running', 'paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'],
    done: 'asked to send its mails',
  },
  signInMails: {
    states: ['succeeded', 'completed_with_errors', 'timed_out', 'cancelled'],
    done: 'asked to mail those who have not signed in',
  },
} as const satisfies Record<string, Allowed>;

/** The actions that change the state of a draft, which stays a draft. */
export type DraftAction = 'addFile' | 'removeFile' | 'convert' | 'check' | 'discard';

/** @throws ApiError 400 IMPORT-STATE unless the action is possible in the state of the import or draft */
export function requireState({ state }: { state: string }, action: keyof typeof ACTIONS): void {
  const { states, done }: Allowed = ACTIONS[action];
  if (!(states as readonly string[]).includes(state)) throw wrongState(shownState(state), done, states);
}

/**
 * 400
 * @param state as the API shows it
 * @param done completes "An import in state … cannot be …"
 * @param states in which it would be possible
 */
export function wrongState(state: string, done: string, states: readonly string[] = []): ApiError {
  const must = states.length === 0 ? '' : ` It must be in state ${states.map(shownState).join(' or ')}.`;
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-STATE', `An import in state ${state} cannot be ${done}.${must}`);
}

/** A state of an import or draft as the API shows it. */
export function shownState(state: string): string {
  return `IMPORT_STATE_${state.toUpperCase()}`;
}

const SHOWN_END_STATES: ReadonlySet<string> = new Set(END_STATES.map(shownState));

/** Whether an import, as the API shows it, has ended. */
export function isEnded({ state }: { state: string }): boolean {
  return SHOWN_END_STATES.has(state);
}

/** SQL over an import: it has ended. */
export const HAS_ENDED = `state in (${list(END_STATES)})`;

/** The states of an item as the database has them. Timed out and cancelled are only shown, of a pending item. */
export type ItemState = Lowercase<Exclude<(typeof ITEM_STATES)[number], 'TIMED_OUT' | 'CANCELLED'>>;

/** Whether an item in the state holds the data that was sent for its user, until the data is erased. */
const HOLDS_DATA: Record<ItemState, boolean> = {
  pending: true,
  failed: true,
  succeeded: false,
  skipped: false,
  undone: false,
};

const HOLDING = (Object.keys(HOLDS_DATA) as ItemState[]).filter((state) => HOLDS_DATA[state]);
/** SQL over an item: it may hold the data of its user. */
export const MAY_HOLD_DATA = `state in (${list(HOLDING)})`;

function list(states: readonly string[]): string {
  return states.map((state) => `'${state}'`).join(', ');
}
