/** Imports all users of the old system, or those that changed. */
import { SOURCES } from '../../sources/registry.ts';
import type { Source } from '../../sources/source.ts';
import { openCounter } from '../../sources/summary.ts';
import { convertOptions } from '../import/options.ts';
import { groupLines, summaryLines } from '../import/show-summary.ts';
import { counted, countsText } from '../imports/progress.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { openCollector } from './batch.ts';
import { type PullJob, runOf } from './job.ts';
import type { PullOptions } from './options.ts';
import { awaitImport, openSender } from './send.ts';
import { openSent } from './sent.ts';
import { type PullState, sentPath, writeState } from './state.ts';

const MOST_USERS = 100_000;

/** @throws Failure @throws PullError */
export async function importRound(job: PullJob, state: PullState, since: string | undefined): Promise<void> {
  const { session, options, system, old, statePath, signal } = job;
  const { out } = session;
  const size = batchSize(options);
  const source = sourceOf(job);
  const given = await convertOptions({ hashConfig: options.hashConfig, map: options.map });
  const resumed = options.dryRun ? undefined : state.run;
  const isFirst = state.last === undefined && resumed === undefined;
  const run = runOf(job, state, since);
  if (resumed) out.note(`Going on after ${counted(run.read, 'user')}, as ${statePath} says; --restart begins again.`);
  if (run.open !== undefined) await awaitImport(session, run.open, signal);
  const save = async () => {
    if (!options.dryRun) await writeState(statePath, { ...state, run });
  };
  const sent = options.dryRun ? undefined : await openSent(sentPath(statePath));
  const counter = openCounter({ atSource: options.passwordSource !== undefined });
  const collector = openCollector({
    title: system.title,
    source,
    options: old.hashConfig === undefined ? given : { hashConfig: old.hashConfig, ...given },
    orgId: job.orgId,
    idPrefix: options.idPrefix,
    sent,
    read: run.read,
    cursor: run.cursor,
  });
  const sender = openSender(session, {
    title: system.title,
    signal,
    sent,
    query: { ...queryOf(options, isFirst && since === undefined), source: source.name },
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
  });
  let mark: string | undefined;
  try {
    await save();
    for await (const page of old.pages({ cursor: run.cursor, since: run.since })) {
      signal.throwIfAborted();
      collector.add(page, counter.add);
      mark = page.mark ?? mark;
      if (collector.size >= size) await sender.send(collector.take());
    }
    await sender.send(collector.take());
    await sender.finish();
  } finally {
    await sender.finish().catch(() => {}); // thrown above already, or less important than what was
    await sent?.close();
  }
  if (!options.dryRun)
    await writeState(statePath, { ...state, run: undefined, last: { startedAt: run.startedAt, mark } });
  const summary = counter.summary(0);
  const { counts, failures } = sender.totals();
  if (isFirst) for (const line of summaryLines(summary, options)) out.note(line);
  out.result({ read: run.read, imports: run.imports, counts, summary, failures });
  out.line(
    `${counted(run.read, 'user')} read from ${system.title}; ${counts.total === 0 ? 'none of them has changed' : `${options.dryRun ? 'checked' : 'imported'} ${countsText(counts)}`}.`,
  );
  for (const line of groupLines('Failed, by reason', failures)) out.line(line);
  if (counts.failed > 0) options.shell.exitCode = EXIT.usersFailed;
}

/** @param isFirst no user was sent before */
function queryOf(options: PullOptions, isFirst: boolean): Record<string, string | undefined> {
  const onExisting = options.onExisting ?? (isFirst ? 'fail' : 'update');
  return {
    timeout: options.timeout,
    mails: options.mails === 'none' ? 'none' : undefined,
    withoutEmail: options.withoutEmail ? 'true' : undefined,
    passwordSource: options.passwordSource,
    onExisting: onExisting === 'fail' ? undefined : onExisting,
    dryRun: options.dryRun ? 'true' : undefined,
  };
}

function sourceOf({ system, options }: PullJob): Source {
  const name = system.source ?? options.from;
  const source = SOURCES.find((one) => one.name === name);
  if (source) return source;
  throw new Failure(`Unknown source "${name}".`, { exitCode: EXIT.usage });
}

function batchSize({ batch }: PullOptions): number {
  const size = /^\d{1,6}$/.test(batch) ? Number(batch) : 0;
  if (size >= 1 && size <= MOST_USERS) return size;
  throw new Failure(`--batch must be a number from 1 to ${MOST_USERS}; it is "${batch}".`, { exitCode: EXIT.usage });
}
