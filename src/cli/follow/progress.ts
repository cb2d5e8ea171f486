/** The progress of an import, as each event of the service reports it. */
import type { Answer } from '../../contract/client.ts';

export type ImportProgress = Answer<'listImports'>['imports'][number];
export type Counts = ImportProgress['counts'];

const PREFIX = 'IMPORT_STATE_';
const ONGOING = ['RUNNING', 'PAUSED', 'UNDOING'];

/** Whether the import is over; a paused one is not. */
export function isEnded({ state }: ImportProgress): boolean {
  return !ONGOING.includes(state.replace(PREFIX, ''));
}

/** The state in words: `completed with errors`. */
export function stateText({ state }: ImportProgress): string {
  return state.replace(PREFIX, '').toLowerCase().replaceAll('_', ' ');
}

/** `10,000` */
export function number(n: number): string {
  return n.toLocaleString('en-US');
}

/** `1 user`, `10,000 users` */
export function counted(n: number, what: string): string {
  return `${number(n)} ${what}${n === 1 ? '' : 's'}`;
}

/** `10,000: 9,987 succeeded, 13 failed`, without the counts that are zero. */
export function countsText({ total, timedOut, ...others }: Counts): string {
  const parts = Object.entries({ ...others, 'timed out': timedOut }).filter(([, n]) => n > 0);
  return `${number(total)}: ${parts.map(([what, n]) => `${number(n)} ${what}`).join(', ')}`;
}

/** `2 min 10 s left`, or an empty string when it is not known. */
export function remainingText({ eta }: ImportProgress, now = Date.now()): string {
  if (eta === null) return '';
  const seconds = Math.max(0, Math.round((Date.parse(eta) - now) / 1000));
  const [h, min, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  if (h > 0) return `${h} h ${min} min left`;
  return min > 0 ? `${min} min ${s} s left` : `${s} s left`;
}
