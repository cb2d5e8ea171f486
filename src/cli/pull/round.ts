/**
 * One round of a pull: the users of an old system, or those that changed, are imported, or saved in a file that
 * `muster import` reads.
 *
 * Guarantee: the file appears when it is complete; only its owner can read it.
 * On crash: a next run continues after the last batch that was imported. What was to be saved is in `….part`; the next
 * run cuts off what came after the last page of the state, and continues.
 */
import { open, rename } from 'node:fs/promises';
import type { Query } from '../../contract/client.ts';
import { type RecordJob, surveyRecords } from '../../sources/convert.ts';
import type { OldSystem, PullSystem } from '../../sources/pull/system.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { Convert, ExportFormat, Fields } from '../../sources/source.ts';
import { type Counter, openCounter, type Summary } from '../../sources/summary.ts';
import { requireMappable } from '../../sources/system-survey.ts';
import { counted, countsText } from '../follow/progress.ts';
import { convertOptions } from '../import/options.ts';
import { groupLines, summaryLines } from '../import/summary.ts';
import { pastDate } from '../options.ts';
import type { Session } from '../service/session.ts';
import { EXIT, type Failure, wrongUsage } from '../terminal/failure.ts';
import type { PullOptions } from './options.ts';
import {
  awaitImport,
  type Collector,
  openCollector,
  openSender,
  openSent,
  type Sender,
  type SendOptions,
} from './send.ts';
import { type PullRun, type PullState, sentPath, writeState } from './state.ts';

/** The old system, where its users go, and how. */
export interface PullJob {
  session: Session;
  system: PullSystem;
  old: OldSystem;
  options: PullOptions;
  orgId: string | undefined;
  statePath: string;
  /** Ctrl-C. */
  signal: AbortSignal;
  /** How records become entries; made by the first round. */
  conversion?: SurveyedJob;
}

type SurveyedJob = RecordJob & { convert: Convert | undefined };

const MOST_USERS = 100_000;

/** Imports all users of the old system, or those that changed. @throws Failure @throws PullError */
export async function importRound(job: PullJob, state: PullState, since: string | undefined): Promise<void> {
  const { session, options, statePath } = job;
  const size = batchSize(options);
  const resumed = options.dryRun ? undefined : state.run;
  const isFirst = state.last === undefined && resumed === undefined;
  const run = runOf(job, state, since);
  const read = counted(run.read, 'user');
  if (resumed) session.out.note(`Going on after ${read}, as ${statePath} says; --restart begins again.`);
  if (run.open !== undefined) await awaitImport(session, run.open, job.signal);
  job.conversion ??= await conversionJob(job);
  const save = async (next: PullState = { ...state, run }) => {
    if (!options.dryRun) await writeState(statePath, next);
  };
  const { source } = job.conversion;
  const counter = openCounter({ atSource: options.passwordSource !== undefined, source });
  const sent = options.dryRun ? undefined : await openSent(sentPath(statePath));
  const { title } = job.system;
  const collector = openCollector({ ...job.conversion, title, sent, read: run.read, cursor: run.cursor });
  const query = { ...queryOf(options, isFirst && since === undefined), source: source.name };
  const sender = openSender(session, { title, signal: job.signal, sent, query, ...stepsOf(run, save) });
  let mark: string | undefined;
  try {
    await save();
    mark = await sendPages(job, run, { collector, sender, counter, size });
  } finally {
    await sender.finish().catch(() => {}); // thrown above already, or less important than what was
    await sent?.close();
  }
  await save({ ...state, run: undefined, last: { startedAt: run.startedAt, mark } });
  showRound(job, run, { summary: counter.summary(0), totals: sender.totals(), isFirst });
}

/**
 * How the records of the old system become entries of an import, after a first reading of all of them where a column
 * means what all of its values say. Later rounds keep what it decided: changes alone would not tell.
 * @throws Failure (usage) @throws UsageError @throws PullError
 */
async function conversionJob(job: PullJob): Promise<SurveyedJob> {
  const { options, old, orgId, system, signal } = job;
  const { hashConfig, hashFormat, map, passwordForm, unknownPasswords, passkeyRpId, idPrefix, quoteAddresses } =
    options;
  const given = await convertOptions({ hashConfig, hashFormat, map, passwordForm, unknownPasswords, passkeyRpId });
  const all = old.hashConfig === undefined ? given : { hashConfig: old.hashConfig, ...given };
  requireMappable(sourceOf(job), all);
  const records: RecordJob = { source: sourceOf(job), options: all, orgId, idPrefix, quoteAddresses };
  const convert = await surveyRecords(records, {
    isTable: system.source === undefined,
    async *all() {
      for await (const page of old.pages({ cursor: undefined, since: undefined })) {
        signal.throwIfAborted();
        yield page.records;
      }
    },
  });
  return { ...records, convert };
}

/** Notes in the run what became of a batch, and saves it. */
function stepsOf(run: PullRun, save: () => Promise<void>): Pick<SendOptions, 'accepted' | 'done'> {
  return {
    async accepted(importId) {
      run.open = importId;
      await save();
    },
    async done({ cursor, read }, importId) {
      run.cursor = cursor;
      run.read = read;
      run.open = undefined;
      if (importId !== undefined) run.imports.push(importId);
      await save();
    },
  };
}

interface Pipeline {
  collector: Collector;
  sender: Sender;
  counter: Counter;
  /** Users in one import. */
  size: number;
}

/** Reads and sends all pages. @returns where the changes after this run begin, if the system says so */
async function sendPages({ old, signal }: PullJob, run: PullRun, pipeline: Pipeline): Promise<string | undefined> {
  const { collector, sender, counter, size } = pipeline;
  let mark: string | undefined;
  for await (const page of old.pages({ cursor: run.cursor, since: run.since })) {
    signal.throwIfAborted();
    collector.add(page, counter.add);
    mark = page.mark ?? mark;
    if (collector.size >= size) await sender.send(collector.take());
  }
  await sender.send(collector.take());
  await sender.finish();
  return mark;
}

interface Round {
  summary: Summary;
  totals: ReturnType<Sender['totals']>;
  isFirst: boolean;
}

function showRound(
  { session: { out }, options, system }: PullJob,
  run: PullRun,
  { summary, totals, isFirst }: Round,
): void {
  const { counts, failures } = totals;
  if (isFirst) for (const line of summaryLines(summary, options)) out.note(line);
  out.result({ read: run.read, imports: run.imports, counts, summary, failures });
  const done = options.dryRun ? 'checked' : 'imported';
  const what = counts.total === 0 ? 'none of them has changed' : `${done} ${countsText(counts)}`;
  out.line(`${counted(run.read, 'user')} read from ${system.title}; ${what}.`);
  for (const line of groupLines('Failed, by reason', failures)) out.line(line);
  if (counts.failed > 0) options.shell.exitCode = EXIT.usersFailed;
}

/** @param isFirst no user was sent before */
function queryOf(options: PullOptions, isFirst: boolean): Query<'importUsers'> {
  const onExisting = options.onExisting ?? (isFirst ? 'fail' : 'update');
  return {
    timeout: options.timeout,
    mails: options.mails === 'none' ? 'none' : undefined,
    enterpriseMailCodes: options.enterpriseMailCodes ? undefined : 'false',
    withoutEmail: options.withoutEmail ? 'true' : undefined,
    passwordSource: options.passwordSource,
    onExisting: onExisting === 'fail' ? undefined : onExisting,
    dryRun: options.dryRun ? 'true' : undefined,
  };
}

function sourceOf({ system, options }: PullJob): ExportFormat {
  const name = system.source ?? options.from;
  const source = SOURCES.find((one) => one.name === name);
  if (source) return source;
  throw wrongUsage(`Unknown source "${name}".`);
}

function batchSize({ batch }: PullOptions): number {
  const size = /^\d{1,6}$/.test(batch) ? Number(batch) : 0;
  if (size >= 1 && size <= MOST_USERS) return size;
  throw wrongUsage(`--batch must be a number from 1 to ${MOST_USERS}; it is "${batch}".`);
}

/** Saves all users of the old system in a file, or those that changed. @throws Failure @throws PullError */
export async function saveRound(job: PullJob, state: PullState, since: string | undefined): Promise<void> {
  const { session, options, system, old, statePath, signal } = job;
  const path = options.out as string;
  if (since !== undefined && !system.tellsChanges) throw unasked(system);
  const run = runOf(job, state, since);
  if (since !== undefined && state.run === undefined && run.since === undefined) throw unasked(system);
  const file = await openSaved(path, run.bytes ?? 0, system.asText ?? ((record) => JSON.stringify(record)));
  let mark: string | undefined;
  try {
    for await (const page of old.pages({ cursor: run.cursor, since: run.since })) {
      signal.throwIfAborted();
      run.bytes = await file.add(page.records);
      run.cursor = page.cursor;
      run.read += page.records.length;
      mark = page.mark ?? mark;
      await writeState(statePath, { ...state, run });
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.finish();
  await writeState(statePath, { ...state, run: undefined, last: { startedAt: run.startedAt, mark } });
  session.out.result({ read: run.read, file: path });
  const from = system.source === undefined ? '' : ` --from ${system.source}`;
  session.out.line(
    `${counted(run.read, 'user')} of ${system.title} are in ${path}: muster import ${path}${from} --org …`,
  );
}

function unasked({ title }: PullSystem): Failure {
  return wrongUsage(
    `${title} cannot be asked for changes, and a file has nothing to compare with.`,
    'Leave out --since, or leave out --out to send the changes.',
  );
}

interface SavedFile {
  /** Returns the size of the file so far, in bytes. */
  add(records: readonly Fields[]): Promise<number>;
  finish(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param bytes of an earlier attempt that are kept
 * @throws Failure when it cannot be written
 */
async function openSaved(path: string, bytes: number, asText: (record: Fields) => string): Promise<SavedFile> {
  const part = `${path}.part`;
  const unwritable = (error: Error): never => {
    throw wrongUsage(`${path} cannot be written: ${error.message}.`);
  };
  const file = await open(part, bytes > 0 ? 'r+' : 'w', 0o600).catch(unwritable);
  await file.truncate(bytes);
  let size = bytes;
  return {
    async add(records) {
      const text = Buffer.from(records.map((record) => `${asText(record)}\n`).join(''));
      await file.write(text, 0, text.length, size).catch(unwritable);
      await file.sync();
      size += text.length;
      return size;
    },
    async finish() {
      await file.close();
      await rename(part, path).catch(unwritable);
    },
    close: () => file.close(),
  };
}

/** The clocks of two machines differ; users that are read again without a change are not sent again. */
const OVERLAP_MS = 10 * 60_000;

/**
 * The interrupted run, as far as its system can continue it; else a new one.
 * @param since as given with `--since` @throws Failure (usage)
 */
function runOf({ system, options }: PullJob, { run, last }: PullState, since: string | undefined): PullRun {
  if (run && !options.dryRun) return system.continues ? run : { ...run, cursor: undefined, read: 0, bytes: 0 };
  const startedAt = new Date().toISOString();
  return { startedAt, since: since === undefined ? undefined : sinceOf(system, last, since), read: 0, imports: [] };
}

function sinceOf(system: PullSystem, last: PullState['last'], since: string): string | undefined {
  if (since !== 'last') {
    if (system.tellsChanges === true) return pastDate(since);
    throw wrongUsage(
      `${system.title} does not tell when a user was changed.`,
      'Use --since last: only users that differ from what was sent before are sent.',
    );
  }
  if (last === undefined) {
    throw wrongUsage(
      'There is no complete run before this one, so --since last has nothing to refer to.',
      'Run the command without --since first.',
    );
  }
  if (!system.tellsChanges) return undefined;
  if (system.tellsChanges === 'since the last run') return last.mark;
  return last.mark ?? new Date(Date.parse(last.startedAt) - OVERLAP_MS).toISOString();
}
