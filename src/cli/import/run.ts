/**
 * An import from the command line, step by step: open the files, send their users while they are read, show what will
 * happen, check and ask if that is needed, start, follow.
 *
 * Guarantee: the users are sent once, and none is imported before the files have been read completely: the last bytes
 * are held back until then, and a draft is started only after the answer. After a "no" or Ctrl-C at the question the
 * draft is discarded.
 * On crash: while sending, nothing remains at the service; afterwards the import continues without this command, and a
 * draft stays until it is started, discarded or expires.
 */
import { randomUUID } from 'node:crypto';
import type { Query } from '../../contract/client.ts';
import { type Conversion, openConversion } from '../../sources/convert.ts';
import { STDIN } from '../../sources/read/file.ts';
import type { Group, Summary } from '../../sources/summary.ts';
import { watchImport } from '../follow/follow.ts';
import { countsText, number } from '../follow/progress.ts';
import { exitCodeFor, type ImportResult, showResult } from '../follow/result.ts';
import { missingLines } from '../follow/sign-in.ts';
import { findOrg } from '../service/find.ts';
import { pepperHeaders } from '../service/pepper.ts';
import type { Session } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';
import { Failure, Interrupted, orAborted, untilInterrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { type Chosen, chooseFiles, confirmSource, describeFiles } from './choose.ts';
import { readDraftMails, showDraftMails } from './mails.ts';
import { convertOptions, type RunOptions, requireTimeout, wordsOf } from './options.ts';
import { openGauge, openPlaces, openReading, type Places, type Reading, readFailures, readThrough } from './read.ts';
import { groupLines, openPass, requireUsers, showSummary, Unsendable } from './summary.ts';
import { type Accepted, checkDraft, settingsOf, TOO_MANY_DRAFTS, untilTaken, upload } from './upload.ts';

/** Imports the users of the files that the options name. @throws Failure @throws UsageError */
export async function runImport(session: Session, options: RunOptions): Promise<void> {
  requireTimeout(options.timeout);
  const headers = await pepperHeaders(session.out, options);
  const left = new Interrupted('Interrupted before anything was sent.');
  const opened = await untilInterrupted(left, (signal) => orAborted(signal, open(session, options)));
  try {
    await send(session, options, { ...opened, headers });
  } finally {
    await opened.close();
  }
}

/** Files whose users can be sent. */
interface Opened {
  chosen: Chosen;
  conversion: Conversion;
  reading: Reading;
  close(): Promise<void>;
}

interface Sendable extends Opened {
  /** The pepper, if there is one. */
  headers: Record<string, string>;
}

async function open(session: Session, options: RunOptions): Promise<Opened> {
  const orgId = options.org === undefined ? undefined : await findOrg(session.api, options.org);
  const chosen = await chooseFiles(options);
  try {
    const given = await convertOptions(options);
    const { pepperEnv, pepperMode } = options;
    for (const line of describeFiles(chosen, { ...given, pepperEnv, pepperMode })) session.out.note(line);
    await confirmSource(session.out, chosen, options);
    const job = {
      source: chosen.source,
      files: chosen.files,
      orgId,
      idPrefix: options.idPrefix,
      quoteAddresses: options.quoteAddresses,
      options: given,
    };
    const reading = openReading(chosen);
    const conversion = await openConversion(job, reading.note);
    const close = async () => void (await Promise.all([conversion.close(), chosen.close()]));
    return { chosen, conversion, reading, close };
  } catch (error) {
    await chosen.close();
    throw error;
  }
}

async function send(session: Session, options: RunOptions, opened: Sendable): Promise<void> {
  const plan = { options, isGuess: opened.chosen.isGuess };
  const isDraft = options.dryRun || mayAsk(session.out, plan);
  try {
    const sent = await sendOnce(session, options, opened, isDraft);
    await (isDraft ? fromDraft(session, options, plan, sent) : follow(session, options, sent));
  } catch (error) {
    if (!options.dryRun || !(error instanceof Failure) || error.id !== TOO_MANY_DRAFTS) throw error;
    session.out.note('You have too many drafts, so this dry run keeps no users at the service.');
    await follow(session, options, await sendOnce(session, options, opened, false));
  }
}

/** When it returns, every user is durable at the service. */
async function sendOnce(session: Session, options: RunOptions, opened: Sendable, isDraft: boolean): Promise<Sent> {
  const { out } = session;
  const { chosen, conversion, reading, headers } = opened;
  const places = openPlaces();
  const gauge = openGauge(out, reading.size, 'read and sent', { isBytes: true });
  reading.onRead(() => gauge.update(reading.read()));
  const shown: { summary?: Summary } = {};
  const pass = () =>
    openPass(out, { conversion, chosen, options, shown, onEnd: gauge.stop }, (summary) => {
      if (!isDraft) requireStated(summary, { options, isGuess: chosen.isGuess });
    });
  const again = (why: string, seconds: number) => out.note(`${why} Sending the users again in ${seconds} s.`);
  const idempotencyKey = options.idempotencyKey ?? randomUUID();
  const query = queryOf(options, chosen.source.name, isDraft);
  try {
    const accepted = await upload(session.api, { conversion, places, query, idempotencyKey, headers, pass }, { again });
    return { accepted, places, summary: shown.summary as Summary };
  } catch (error) {
    if (!(error instanceof Unsendable)) throw error;
    gauge.stop();
    const summary = await readThrough(out, conversion, reading, {
      atSource: options.passwordSource !== undefined,
      source: opened.chosen.source,
    });
    showSummary(out, summary, options);
    requireUsers(summary, options, chosen);
    throw new Error('the files changed while they were read');
  } finally {
    reading.onRead(() => {});
    gauge.stop();
  }
}

/** What a draft is started with is asked for then. */
function queryOf(options: RunOptions, source: string, isDraft: boolean): Query<'importUsers'> {
  const ofUsers: Query<'importUsers'> = {
    source,
    strict: options.strict ? 'true' : undefined,
    withoutEmail: options.withoutEmail ? 'true' : undefined,
    passwordSource: options.passwordSource,
  };
  if (isDraft) return { ...ofUsers, draft: 'true' };
  return {
    ...ofUsers,
    timeout: options.timeout,
    dryRun: options.dryRun ? 'true' : undefined,
    onExisting: options.onExisting === 'fail' ? undefined : options.onExisting,
    mails: options.mails === 'none' ? 'none' : undefined,
    enterpriseMailCodes: options.enterpriseMailCodes ? undefined : 'false',
    webhook: options.webhook,
  };
}

const OF_DRAFTS = ['IMPORT_STATE_DRAFT', 'IMPORT_STATE_CHECKING', 'IMPORT_STATE_CHECKED'];

/**
 * What happens to users that are at the service as a draft: a dry run checks them and leaves them there; else they are
 * checked and asked about, if there is a question, and started.
 * @throws Failure @throws Interrupted
 */
async function fromDraft(session: Session, options: RunOptions, plan: Plan, sent: Sent): Promise<void> {
  const { importId, state } = sent.accepted;
  if (state === 'IMPORT_STATE_DISCARDED') throw new Failure('The draft of an earlier run with this key was discarded.');
  // An earlier run with the same key has started it.
  if (!OF_DRAFTS.includes(state)) return follow(session, options, sent);
  const stays = (error: unknown) => {
    if (!(error instanceof Interrupted))
      session.out.note(`The users stay at the service as draft ${importId}: \`muster status ${importId}\`.`);
    throw error;
  };
  if (options.dryRun) {
    const result = await checkDraft(session, importId, options).catch(stays);
    return follow(session, options, sent, result);
  }
  const question = questionFor(sent.summary, plan);
  if (question !== undefined) await decide(session, options, sent, question);
  const accepted = await start(session, importId, options).catch(stays);
  await follow(session, options, { ...sent, accepted });
}

async function decide(session: Session, options: RunOptions, sent: Sent, question: string): Promise<void> {
  const { api, out } = session;
  const { importId } = sent.accepted;
  const check = await checkDraft(session, importId, options);
  out.note(`Checked ${countsText(check.counts)}`);
  if (check.counts.failed > 0)
    for (const line of groupLines('Will fail', await readFailures(api, check.importId, sent.places))) out.note(line);
  try {
    await confirm(out, question);
  } catch (error) {
    await api.call('discardImport', { importId });
    throw error;
  }
}

function start({ api, out }: Session, importId: string, options: RunOptions): Promise<ImportResult> {
  const left = new Interrupted(
    'Interrupted while the import was started.',
    `\`muster status ${importId}\` shows whether it runs.`,
  );
  const body = { ...settingsOf(options), webhook: options.webhook };
  const again = (why: string, seconds: number) => out.note(`${why} Trying again in ${seconds} s.`);
  const attempt = (signal: AbortSignal) =>
    untilTaken(() => api.call('startImport', { importId }, { body, signal }), again, signal);
  return untilInterrupted(left, (signal) => orAborted(signal, attempt(signal)));
}

/** Users that were sent, with what the service answered. */
interface Sent {
  accepted: Accepted;
  places: Places;
  summary: Summary;
}

/**
 * Tells what became of the users that were sent: follows the import to its end with `--watch`; a dry run, always.
 * @param check the dry run of a draft, which has ended
 */
async function follow(session: Session, options: RunOptions, sent: Sent, check?: ImportResult): Promise<void> {
  const { out, api } = session;
  const { accepted, places, summary } = sent;
  const { importId } = check ?? accepted;
  if (!options.dryRun) out.note(`Import ${importId} is accepted: every user is stored by the service.`);
  if (!options.dryRun && !options.watch) {
    out.result({ import: accepted, summary });
    out.line(`Watch progress: muster status ${importId} --watch`);
    return;
  }
  const draftId = check && accepted.importId;
  const result = check ?? (await watchImport(session, importId));
  const failures = result.counts.failed > 0 ? await readFailures(api, importId, places) : [];
  const mailing = draftId ? await readDraftMails(session, draftId, options.mailsOf) : undefined;
  if (out.json) {
    const { mails, orgId: mailsOf, orgs: mailOrgs } = mailing ?? {};
    out.result({ import: result, ...(draftId ? { draft: draftId, mails, mailsOf, mailOrgs } : {}), summary, failures });
  } else {
    const missing = options.dryRun ? missingLines(summary.missing) : [];
    showResult(out, result, [...missing, ...groupLines('Failed, by reason', failures)]);
    if (mailing) await showDraftMails(session, mailing, options.mailPreviews);
  }
  for (const line of adviceLines(options, failures, draftId)) out.line(line);
  options.shell.exitCode = exitCodeFor(result);
}

/** Up to this many mails are sent without asking: a test run, a small team. */
const FEW_MAILS = 100;

/** What decides whether to ask before the import starts. */
export interface Plan {
  options: { files: readonly string[]; mails?: 'auto' | 'none' | undefined; yes: boolean; dryRun: boolean };
  isGuess: boolean;
}

/** Whether there may be a question, depending on what the files hold, and a person to answer it. */
export function mayAsk(out: Output, { options, isGuess }: Plan): boolean {
  if (options.yes || options.dryRun || (options.mails !== undefined && !isGuess)) return false;
  // Standard input may carry the users, so no answer can come from there.
  return out.live && out.input.isTTY === true && !out.json && !options.files.includes(STDIN);
}

/** What to ask before the import starts; undefined if nothing. */
export function questionFor(summary: Summary, { options, isGuess }: Plan): string | undefined {
  const mails = unstatedMails(summary, options);
  const questions = [
    ...(mails > 0 ? [`${number(mails)} mails will be sent (--mails none holds them back).`] : []),
    ...(isGuess ? ['The system that the files come from is a guess.'] : []),
  ];
  return options.yes || questions.length === 0 ? undefined : `${questions.join(' ')} Continue?`;
}

/**
 * Returns when the import may start without a question. A guess was shown, and a script could have named the source;
 * many mails need an explicit option.
 * @throws Failure
 */
export function requireStated(summary: Summary, { options }: Plan): void {
  const mails = unstatedMails(summary, options);
  if (options.yes || options.dryRun || mails === 0) return;
  throw wrongUsage(
    `${number(mails)} mails would be sent, and there is no terminal to ask on; nothing was imported.`,
    'Use --mails auto to send them, or --mails none to hold them for `muster send-mails`.',
  );
}

function unstatedMails({ mails }: Summary, options: Plan['options']): number {
  const due = mails.verification + mails.initialisation;
  return options.mails === undefined && due > FEW_MAILS ? due : 0;
}

const EXISTS = /^USER-(?:ID|NAME)-TAKEN$/;

/**
 * What to do after an import or a dry run: the command that imports for real, and how to leave existing users alone.
 * @param failures why users failed
 * @param draftId whose users a dry run has checked
 */
export function adviceLines(options: RunOptions, failures: readonly Group[], draftId?: string): string[] {
  const isTaken = options.onExisting === 'fail' && failures.some(({ id }) => EXISTS.test(id));
  return [
    ...(isTaken
      ? ['Users that already exist stay as they are with --on-existing skip, and take over the export with update.']
      : []),
    ...(options.dryRun ? startLines(options, failures, draftId) : []),
  ];
}

function startLines(options: RunOptions, failures: readonly Group[], draftId: string | undefined): string[] {
  if (draftId === undefined) return ['To import these users, run:', `  ${realCommand(options)}`];
  return [
    'To import these users, which the service keeps as a draft for a day, run:',
    `  ${startCommand(options, draftId)}`,
    ...(failures.length > 0 ? [`To correct those that fail before: muster causes ${draftId}`] : []),
    `To drop them: muster discard ${draftId}`,
  ];
}

function startCommand(options: RunOptions, draftId: string): string {
  const { timeout, onExisting, mails, enterpriseMailCodes, webhook } = options;
  const given = optionWords([
    ['timeout', timeout],
    ['on-existing', onExisting === 'fail' ? undefined : onExisting],
    ['mails', mails],
    ['webhook', webhook],
  ]);
  const codes = enterpriseMailCodes ? [] : ['--no-enterprise-mail-codes'];
  return ['muster', 'start', draftId, ...given, ...codes, '--watch'].map(quoted).join(' ');
}

function optionWords(valued: readonly [name: string, value: string | undefined][]): string[] {
  return valued.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}

/** The command line without `--dry-run`. */
function realCommand(options: RunOptions): string {
  const given = wordsOf(options, ['dry-run', 'mail-previews', 'mails-of', 'watch', 'yes', 'idempotency-key']);
  return ['muster', 'import', ...options.files, ...given, '--watch'].map(quoted).join(' ');
}

/** A word as a shell needs it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
