/**
 * Progress for people: a live bar on a terminal, elsewhere at most one plain line a second.
 */
import { SingleBar } from 'cli-progress';
import type { Output } from './output.ts';

export interface Step {
  done: number;
  total: number;
  /** Shown after the numbers: `users  3,100/s  12 s left`. */
  text: string;
}

export interface Display {
  update(step: Step): void;
  /** Prints a line between updates. */
  note(text: string): void;
  /** Leaves the last state on screen. Always call it, as it restores the terminal. */
  stop(): void;
}

const LINE_EVERY_MS = 1000;

export function openDisplay(out: Output): Display {
  if (out.json) return { update: () => {}, note: () => {}, stop: () => {} };
  return out.live ? bar(out) : lines(out);
}

function bar(out: Output): Display {
  const single = new SingleBar({
    format: '  {bar} {percentage}%  {value}/{total} {text}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    stream: out.screen,
  });
  let isShown = false;
  const stop = () => {
    single.stop();
    isShown = false;
  };
  return {
    update({ done, total, text }) {
      if (!isShown) single.start(total, done, { text });
      isShown = true;
      single.setTotal(total);
      single.update(done, { text });
    },
    note(text) {
      stop();
      out.note(text);
    },
    stop,
  };
}

function lines(out: Output): Display {
  let printedAt = 0;
  let waiting: Step | undefined;
  const print = ({ done, total, text }: Step) => {
    printedAt = Date.now();
    waiting = undefined;
    out.note(`  ${done}/${total} ${text}`.trimEnd());
  };
  const flush = () => {
    if (waiting) print(waiting);
  };
  return {
    update(step) {
      waiting = step;
      if (Date.now() - printedAt >= LINE_EVERY_MS) flush();
    },
    note(text) {
      flush();
      out.note(text);
    },
    stop: flush,
  };
}
