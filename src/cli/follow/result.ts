/** The result of an import: how a person sees it, what they can do next, and the exit code for its outcome. */
import type { Answer } from '../../contract/client.ts';
import { EXIT, type ExitCode } from '../terminal/failure.ts';
import { distance, type Output } from '../terminal/output.ts';
import { counted, countsText, type ImportProgress, number, remainingText, stateText } from './progress.ts';
import { missingLines, signInLines } from './sign-in.ts';

export type ImportResult = Answer<'getImport'>;
type Cause = Answer<'listImportCauses'>['causes'][number];

const MOST_ERRORS = 10;
const MOST_ORGS = 20;
const MOST_WARNINGS = 10;
const LABEL_WIDTH = 10;

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
  const [fields, others] = [result.warnings.filter(({ path }) => path), result.warnings.filter(({ path }) => !path)];
  showList(out, 'Ignored fields', fields.map(warningText), MOST_WARNINGS);
  const messages = others.map(({ message }) => message);
  showList(out, 'Warnings', messages, MOST_WARNINGS);
  const { dryRun, draft } = result;
  const importId = draft?.check?.importId ?? result.importId;
  const told = signInLines(result.signIn, { importId, isDone: !dryRun && !draft });
  for (const line of [...told, ...missingLines(draft?.summary?.missing)]) out.line(line);
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

type Step = [command: string, what: string];

/** What you can do with an import in its state: the exact commands, each with its purpose, in two columns. */
function nextSteps(result: ImportProgress): string[] {
  const steps = stepsFor(result);
  const widest = Math.max(0, ...steps.map(([command]) => command.length));
  return steps.map(([command, what]) => `${command.padEnd(widest)}  ${what}`);
}

function stepsFor(result: ImportProgress): Step[] {
  const { importId: id, state, counts, dryRun } = result;
  const failed: Step[] = counts.failed === 0 ? [] : [...(dryRun ? [] : [whyFailed(id)]), listFailed(id)];
  const undo: Step[] = dryRun || counts.succeeded === 0 ? [] : [undoIt(id)];
  switch (state.replace('IMPORT_STATE_', '')) {
    case 'RUNNING':
      return [
        [`muster status ${id} --watch`, 'watch progress'],
        [`muster pause ${id}`, 'pause it'],
        [`muster cancel ${id}`, 'cancel it'],
      ];
    case 'DRAFT':
      return [startIt(id), discardIt(id)];
    case 'CHECKED':
      return [startIt(id), [`muster causes ${id}`, 'list why users would fail, and the remedies'], discardIt(id)];
    case 'UPLOADING':
    case 'UNREADABLE':
      return [discardIt(id)];
    case 'PAUSED':
      return [[`muster resume ${id}`, 'resume it'], [`muster cancel ${id}`, 'cancel it'], ...undo];
    case 'UNDOING':
      return [[`muster status ${id} --watch`, 'watch progress']];
    case 'UNDONE':
      return counts.succeeded === 0
        ? []
        : [[`muster items ${id} --state succeeded`, 'list the users that it kept, and why']];
    case 'TIMED_OUT':
    case 'CANCELLED':
      return [[`muster resume ${id} --timeout 30m`, 'resume it with the remaining users'], ...failed, ...undo];
    case 'COMPLETED_WITH_ERRORS':
      return [...failed, ...(dryRun ? [] : secondTry(id)), ...undo];
    default:
      return undo;
  }
}

function startIt(id: string): Step {
  return [`muster start ${id} --watch`, 'import its users'];
}

function discardIt(id: string): Step {
  return [`muster discard ${id}`, 'drop its users'];
}

function whyFailed(id: string): Step {
  return [`muster causes ${id}`, 'list why users failed, and the remedies'];
}

function listFailed(id: string): Step {
  return [`muster report ${id} --state failed --format csv -o failed.csv`, 'list every user that failed, and why'];
}

function secondTry(id: string): Step[] {
  return [
    [
      `muster report ${id} --state failed --format dataorgs -o rest.json`,
      'write a body of them, to correct and import again',
    ],
    [`muster retry ${id} --timeout 30m`, 'retry those that conflicted with another user, or were corrected'],
  ];
}

function undoIt(id: string): Step {
  return [`muster undo ${id}`, 'remove the users that it created'];
}

/** For an import that is running, has ended, or has reached the state `asked` for, such as `IMPORT_STATE_UNDONE`. */
export function exitCodeFor({ state }: ImportProgress, asked = 'IMPORT_STATE_RUNNING'): ExitCode {
  if ([asked, 'IMPORT_STATE_SUCCEEDED', 'IMPORT_STATE_RUNNING'].includes(state)) return EXIT.ok;
  return state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS' ? EXIT.usersFailed : EXIT.stopped;
}

/** Why users failed, as a row of a table. */
export function causeRow({ cause, count, field, message, first, remedies }: Cause): string[] {
  const shown = first.slice(0, 3).map(({ index }) => index);
  const more = count > shown.length ? ' …' : '';
  return [cause, String(count), field ?? '', message, `${shown.join(', ')}${more}`, remedies.join(', ')];
}

/** A value that a remedy changes; a hash appears as its scheme. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  if (typeof value === 'string') return JSON.stringify(value);
  const { scheme } = value as { scheme?: string };
  return scheme ? `a hash of ${scheme}` : '(withheld)';
}
