/** What changes on the pages of a draft by itself. */

import { widths } from '../imports/bar.ts';
import { settled } from '../imports/shapes.ts';
import { count, percent } from '../page/format.ts';
import type { LiveState } from '../page/live.ts';
import { CHECK } from '../texts/new-import.ts';
import { type Draft, isComplete, isRecognizable } from './shapes.ts';

export function draftState(result: Partial<Draft> & Pick<Draft, 'state'>): LiveState {
  const { state, draft } = result;
  if (!draft) return { shape: state, text: {} };
  const { files, progress, check, error } = draft;
  const sent = files.reduce((sum, { offset }) => sum + offset, 0);
  const size = files.reduce((sum, one) => sum + one.size, 0);
  const done = check ? settled(check.counts) : 0;
  return {
    shape: [state, isRecognizable(files), isComplete(files), check !== undefined, error !== undefined].join(' '),
    text: {
      upload: percent(sent, size),
      convert: progress ? CHECK.read(percent(progress.bytes, progress.totalBytes), count(progress.users)) : '',
      check: check ? CHECK.checkedOf(count(done), count(check.counts.total)) : '',
    },
    bars: {
      upload: [share(sent, size)],
      convert: [progress ? share(progress.bytes, progress.totalBytes) : 0],
      check: check ? widths(check.counts) : [0],
    },
  };
}

export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}
