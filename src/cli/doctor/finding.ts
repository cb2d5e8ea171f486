/** What `muster doctor` reports about one thing, and how it is shown. */
import type { Output } from '../terminal/output.ts';

/** `skipped`: it could not be checked, which is not an error. */
export type State = 'ok' | 'skipped' | 'warning' | 'problem';

export interface Finding {
  /** What was checked, stable across runs: `redis`. */
  name: string;
  state: State;
  message: string;
  /** What to do: a sentence or a command. */
  advice?: string;
}

export function ok(name: string, message: string): Finding {
  return { name, state: 'ok', message };
}

export function skipped(name: string, message: string): Finding {
  return { name, state: 'skipped', message };
}

export function warning(name: string, message: string, advice: string): Finding {
  return { name, state: 'warning', message, advice };
}

export function problem(name: string, message: string, advice: string): Finding {
  return { name, state: 'problem', message, advice };
}

const MARKS: Readonly<Record<State, string>> = { ok: '✔', skipped: '–', warning: '!', problem: '✖' };

export function show(out: Output, { state, name, message, advice }: Finding): void {
  out.line(`${MARKS[state]} ${name}: ${message}`);
  if (advice) out.line(`    → ${advice}`);
}

/** Prints the totals, or the JSON result. @returns the number of problems */
export function conclude(out: Output, findings: Finding[]): number {
  const count = (state: State) => findings.filter((finding) => finding.state === state).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  out.result({ problems, warnings, findings });
  out.line();
  out.line(
    problems + warnings === 0 ? 'No problems found.' : `${many(problems, 'problem')}, ${many(warnings, 'warning')}.`,
  );
  return problems;
}

export function many(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 GiB` */
export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${amount < 10 && power > 0 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[power]}`;
}
