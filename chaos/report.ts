/** What a run found: the sums for people and as one line of JSON. */
import { KINDS, type Kind, type Problem } from './client/sent.ts';
import type { Backend } from './plan/plan.ts';
import type { Outcome } from './round.ts';

export interface Report extends Record<Kind, number> {
  backend: Backend;
  seed: number;
  rounds: number;
  faults: number;
  users: number;
  /** Mails that arrived again because their first delivery could not be recorded: not wrong. */
  mailsRepeated: number;
  seconds: number;
}

export function emptyReport(backend: Backend, seed: number): Report {
  const none = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;
  return { backend, seed, rounds: 0, faults: 0, users: 0, ...none, mailsRepeated: 0, seconds: 0 };
}

export function add(report: Report, { problems, users, faults, mailsRepeated }: Outcome): void {
  report.rounds++;
  report.users += users;
  report.faults += faults;
  report.mailsRepeated += mailsRepeated;
  for (const { kind, ids } of problems) report[kind] += ids.length;
}

const MOST_IDS = 20;

/** One line for each problem. */
export function describe(problems: Problem[]): string {
  const lines = problems.map(({ kind, name, importId, what, ids }) => {
    const more = ids.length > MOST_IDS ? ` and ${ids.length - MOST_IDS} more` : '';
    const where = importId ? `${name} (import ${importId})` : name;
    return `  ${kind}: ${where}: ${what}: ${ids.slice(0, MOST_IDS).join(', ')}${more}`;
  });
  return lines.join('\n');
}

export function summary(report: Report): string {
  const { backend, seed, rounds, faults, users, mailsRepeated, seconds } = report;
  const found = KINDS.map((kind) => `${kind} ${report[kind]}`).join(', ');
  return (
    `queue on ${backend}, seed ${seed}: ${rounds} rounds, ${faults} faults, ${users} users in ${seconds} s\n` +
    `  ${found}\n  mails that may arrive twice and did: ${mailsRepeated}`
  );
}
