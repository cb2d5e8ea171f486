/** How `muster doctor` shows what it found. */
import { type Finding, many, type State } from '../../findings/finding.ts';
import type { Output } from '../terminal/output.ts';

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
