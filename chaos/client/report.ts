/** Downloads reports, and checks what a report must be at every moment: complete, or visibly broken off. */
import type { Answer, Calls } from './calls.ts';
import { problem, type SentImport } from './sent.ts';

const FORMATS = ['ndjson', 'csv', 'dataorgs'] as const;
export type Format = (typeof FORMATS)[number];

/** How long a report may take, and in addition for each user, in milliseconds. */
const REPORT_MS = 30_000;
const USER_MS = 1;

/** Reads all reports of an import, which may still run. */
export async function readReport(calls: Calls, path: string, sent: SentImport): Promise<void> {
  for (const format of FORMATS) {
    const answer = await fetchReport(calls, path, format, sent.users.length);
    const wrong = format === 'dataorgs' ? undefined : missingLines(answer.text, format, sent.users.length);
    const found = wrong && problem(sent, 'wrongCounts', `the report as ${format} ${wrong}`, [format]);
    if (found) sent.problems.push(found);
  }
}

export function fetchReport(calls: Calls, path: string, format: Format, users: number): Promise<Answer> {
  const patienceMs = REPORT_MS + users * USER_MS;
  return calls.call({ method: 'GET', path: `${path}/report?format=${format}`, patienceMs });
}

/** What is wrong with a report whose connection did not break. */
function missingLines(text: string, format: 'ndjson' | 'csv', users: number): string | undefined {
  const lines = text.split('\n').filter((line) => line !== '');
  const found = format === 'csv' ? lines.length - 1 : lines.length;
  if (found !== users) return `has ${found} users, not ${users}`;
  const indices = lines
    .slice(format === 'csv' ? 1 : 0)
    .map((line) => (format === 'csv' ? Number.parseInt(line, 10) : JSON.parse(line).index));
  const isInOrder = indices.every((index, i) => index === i);
  return isInOrder ? undefined : 'does not list each user once and in order';
}
