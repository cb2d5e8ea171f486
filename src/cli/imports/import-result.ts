/**
 * The result of an import: its fields, how a person sees it, and the exit code for its outcome.
 */
import { EXIT, type ExitCode } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { distance } from '../terminal/times.ts';
import { nextSteps } from './next-steps.ts';
import { counted, countsText, type ImportProgress, number, remainingText, stateText } from './progress.ts';

export interface ImportResult extends ImportProgress {
  warnings: { path: string; count: number; message: string }[];
  /** The first 100; the report has all. */
  errors: { type: string; id: string; message: string }[];
  /** The first 1,000. */
  success: { orgs: { orgId: string; humanUserIds: string[] }[] };
  /** Only of a dry run. */
  hashes?: { scheme: string; users: number; verifiable: boolean }[];
  mailKinds?: { verification: number; initialisation: number };
  /** Only of an import with a webhook. */
  webhook?: { state: string; attempts: number; lastError?: string };
  /** Roles that the import waits for, and no live worker has. */
  missingRoles?: string[];
}

const MOST_ERRORS = 10;
const MOST_ORGS = 20;
const MOST_WARNINGS = 10;
const LABEL_WIDTH = 10;

/** For an import that is running, has ended, or has reached the state `asked` for, such as `IMPORT_STATE_UNDONE`. */
export function exitCodeFor({ state }: ImportProgress, asked = 'IMPORT_STATE_RUNNING'): ExitCode {
  if ([asked, 'IMPORT_STATE_SUCCEEDED', 'IMPORT_STATE_RUNNING'].includes(state)) return EXIT.ok;
  return state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS' ? EXIT.usersFailed : EXIT.stopped;
}

/**
 * Prints the result itself with `--json`; otherwise a summary and the next steps.
 * @param grouped the failures by reason, as lines; without them the first failures are shown one by one
 */
export function showResult(out: Output, result: ImportResult, grouped: readonly string[] = []): void {
  out.result(result);
  if (out.json) return;
  out.line(`Import ${result.importId}: ${stateText(result)}${result.dryRun ? ' (dry run: nothing was written)' : ''}`);
  for (const [label, text] of facts(result)) out.line(`  ${label.padEnd(LABEL_WIDTH)} ${text}`);
  showList(out, 'Organizations', result.orgs.length > 1 ? result.orgs.map(orgText) : [], MOST_ORGS);
  showList(out, 'Hashes', (result.hashes ?? []).map(hashText), MOST_WARNINGS);
  showList(out, 'Ignored fields', result.warnings.map(warningText), MOST_WARNINGS);
  if (grouped.length === 0) showList(out, 'Failed', result.errors.map(errorText), MOST_ERRORS, result.counts.failed);
  for (const line of grouped) out.line(line);
  showList(out, 'What you can do', nextSteps(result), Number.POSITIVE_INFINITY);
}

function facts(result: ImportResult): [label: string, text: string][] {
  const { counts, orgs, usersPerSecond, eta, deadline, timeout, details, webhook, missingRoles } = result;
  const rate = `${number(usersPerSecond)} users a second${eta ? `, ${remainingText(result)} (${eta})` : ''}`;
  return [
    ['users', countsText(counts)],
    ...(orgs.length === 1 && orgs[0] ? [fact('org', orgs[0].orgId)] : []),
    ['mails', mailsText(result)],
    ...(usersPerSecond > 0 ? [fact('rate', rate)] : []),
    ...(details.creationDate ? [fact('started', `${distance(details.creationDate)} (${details.creationDate})`)] : []),
    ['deadline', `${distance(deadline)} (${deadline}, ${timeout} after it started or resumed)`],
    ...(webhook ? [fact('webhook', webhookText(webhook))] : []),
    ...(missingRoles ? [fact('waits for', `a worker with the role ${missingRoles.join(', ')}: none is running`)] : []),
  ];
}

function fact(label: string, text: string): [label: string, text: string] {
  return [label, text];
}

function mailsText({ mails, mailKinds }: ImportResult): string {
  if (mailKinds) {
    const { verification, initialisation } = mailKinds;
    return `${number(verification)} to verify an address, ${number(initialisation)} to set a password would go out`;
  }
  const parts = Object.entries(mails).filter(([, n]) => n > 0);
  return parts.map(([what, n]) => `${number(n)} ${what}`).join(', ') || 'none';
}

function webhookText({ state, attempts, lastError }: NonNullable<ImportResult['webhook']>): string {
  const how = state.replace('WEBHOOK_STATE_', '').toLowerCase();
  return `${how} after ${counted(attempts, 'attempt')}${lastError ? `: ${lastError}` : ''}`;
}

function orgText({ orgId, counts }: ImportResult['orgs'][number]): string {
  return `${orgId}  ${countsText(counts)}`;
}

function hashText({ scheme, users, verifiable }: NonNullable<ImportResult['hashes']>[number]): string {
  return `${scheme}  ${counted(users, 'user')}: ${verifiable ? 'will verify' : 'will NOT verify'}`;
}

function warningText({ path, count }: ImportResult['warnings'][number]): string {
  return `${path}  ${counted(count, 'time')}`;
}

function errorText({ id, message }: ImportResult['errors'][number]): string {
  return `${id || '(no userId)'}: ${message}`;
}

/** @param total how many there really are, when the service returned fewer */
function showList(out: Output, title: string, texts: readonly string[], most: number, total = texts.length): void {
  if (texts.length === 0) return;
  out.line(`${title}:`);
  const shown = texts.slice(0, most);
  for (const text of shown) out.line(`  ${text.replaceAll('\n', ' ')}`);
  if (total > shown.length) out.line(`  … and ${number(total - shown.length)} more`);
}
