/**
 * Progress for people: a live bar on a terminal, elsewhere at most one plain line a second.
 */
import { SingleBar } from 'cli-progress';
import { amountOf } from './amounts.ts';
import type { Output } from './output.ts';

export interface Step {
  done: number;
  total: number;
  /** Whether these are bytes; else they are counted. */
  isBytes?: boolean;
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

/** Where the terminal does not say how wide it is. */
const USUAL_COLUMNS = 80;
const [SMALLEST_BAR, LARGEST_BAR] = [8, 40];
/** Percentage, numbers and text take about so many columns; on a narrower terminal the text is left out. */
const TEXT_FROM = 70;

export function openDisplay(out: Output): Display {
  if (out.json) return { update: () => {}, note: () => {}, stop: () => {} };
  return out.live ? bar(out) : lines(out);
}

function bar(out: Output): Display {
  const columns = out.screen.columns || USUAL_COLUMNS;
  const isNarrow = columns < TEXT_FROM;
  const single = new SingleBar({
    format: `  {bar} {percentage}%  {amount}${isNarrow ? '' : ' {text}'}`,
    barsize: Math.max(SMALLEST_BAR, Math.min(LARGEST_BAR, columns - TEXT_FROM)),
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
    update(step) {
      const { done, total, text } = step;
      const shown = { text, amount: amountOf(step) };
      if (!isShown) single.start(total, done, shown);
      isShown = true;
      single.setTotal(total);
      single.update(done, shown);
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
  const print = (step: Step) => {
    printedAt = Date.now();
    waiting = undefined;
    out.note(`  ${amountOf(step)} ${step.text}`.trimEnd());
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
