/**
 * An import from the command line, step by step: open the files, read them, show what will happen, ask, send, follow.
 *
 * Guarantee: nothing is sent before the files have been read completely.
 * On crash: while sending, nothing remains at the service; afterwards the import continues without this command.
 */
import { randomUUID } from 'node:crypto';
import { type Conversion, openConversion } from '../../sources/convert.ts';
import { STDIN } from '../../sources/read/file.ts';
import type { Summary } from '../../sources/summary.ts';
import { exitCodeFor, type ImportResult, showResult } from '../imports/import-result.ts';
import { watchImport } from '../imports/watch.ts';
import { findOrg } from '../service/find-org.ts';
import type { Session } from '../service/session.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { Interrupted, orAborted, untilInterrupted } from '../terminal/interrupt.ts';
import { adviceLines } from './advice.ts';
import { type Chosen, chooseFiles, describeFiles } from './choose.ts';
import { confirmStart } from './confirm.ts';
import { confirmSource } from './confirm-source.ts';
import { readFailures } from './failures.ts';
import { openGauge } from './gauge.ts';
import { convertOptions } from './options.ts';
import { openPlaces, type Places } from './places.ts';
import { openReading, type Reading, readThrough } from './read-through.ts';
import { requireUsersInFiles } from './require-users.ts';
import type { RunOptions } from './run-options.ts';
import { groupLines, summaryLines } from './show-summary.ts';
import { requireTimeout } from './timeout.ts';
import { upload } from './upload.ts';

/** @throws Failure @throws UsageError */
export async function runImport(session: Session, options: RunOptions): Promise<void> {
  requireTimeout(options.timeout);
  const left = new Interrupted('Interrupted before anything was sent.');
  const prepared = await untilInterrupted(left, (signal) => orAborted(signal, prepare(session, options)));
  try {
    await send(session, options, prepared);
  } finally {
    await prepared.close();
  }
}

/** An import that has been read and confirmed. */
interface Prepared {
  conversion: Conversion;
  summary: Summary;
  close(): Promise<void>;
}

async function prepare(session: Session, options: RunOptions): Promise<Prepared> {
  const orgId = options.org === undefined ? undefined : await findOrg(session.api, options.org);
  const chosen = await chooseFiles(options);
  try {
    const given = await convertOptions(options);
    for (const line of describeFiles(chosen, given)) session.out.note(line);
    await confirmSource(session.out, chosen, options);
    const job = { source: chosen.source, files: chosen.files, orgId, idPrefix: options.idPrefix, options: given };
    const reading = openReading(chosen);
    const conversion = await openConversion(job, reading.note);
    const close = async () => void (await Promise.all([conversion.close(), chosen.close()]));
    const summary = await readAndConfirm(session, options, chosen, { conversion, reading }).catch(async (error) => {
      await conversion.close();
      throw error;
    });
    return { conversion, summary, close };
  } catch (error) {
    await chosen.close();
    throw error;
  }
}

async function readAndConfirm(
  { out }: Session,
  options: RunOptions,
  chosen: Chosen,
  { conversion, reading }: { conversion: Conversion; reading: Reading },
): Promise<Summary> {
  const { passwordSource, withoutEmail } = options;
  const summary = await readThrough(out, conversion, reading, { atSource: passwordSource !== undefined });
  const given = { mails: options.mails ?? 'auto', withoutEmail, passwordSource };
  for (const line of summaryLines(summary, given)) out.note(line);
  requireUsers(summary, options, usersFiles(chosen));
  await confirmStart(out, { summary, options, isGuess: chosen.isGuess, readsStdin: options.files.includes(STDIN) });
  return summary;
}

async function send(session: Session, options: RunOptions, { conversion, summary }: Prepared): Promise<void> {
  const { out } = session;
  const places = openPlaces();
  const gauge = openGauge(out, summary.users, 'users sent');
  const again = (why: string, seconds: number) => out.note(`${why} Sending the users again in ${seconds} s.`);
  const idempotencyKey = options.idempotencyKey ?? randomUUID();
  const accepted = await upload(
    session.api,
    { conversion, places, query: queryOf(options), idempotencyKey },
    { sent: gauge.update, again },
  ).finally(gauge.stop);
  await follow(session, options, { accepted, places, summary });
}

function usersFiles({ files }: Chosen): string[] {
  return files.filter(({ isHashes }) => !isHashes).map(({ file }) => file.name);
}

function requireUsers(summary: Summary, { skipBroken }: RunOptions, files: readonly string[]): void {
  const broken = summary.broken.reduce((sum, { count }) => sum + count, 0);
  if (broken > 0 && !skipBroken) {
    throw new Failure(`${broken} record${broken === 1 ? '' : 's'} cannot be read, so nothing was sent.`, {
      exitCode: EXIT.usage,
      advice: 'Correct them at the places named above, or skip them with --skip-broken.',
    });
  }
  requireUsersInFiles(summary, files);
  if (summary.orgs.some(({ orgId }) => orgId === '')) {
    throw new Failure('The files do not say which organization the users belong to.', {
      exitCode: EXIT.usage,
      advice: 'Specify it with --org; `muster orgs list` shows the existing ones.',
    });
  }
}

function queryOf(options: RunOptions): Record<string, string | undefined> {
  return {
    timeout: options.timeout,
    dryRun: options.dryRun ? 'true' : undefined,
    onExisting: options.onExisting === 'fail' ? undefined : options.onExisting,
    mails: options.mails === 'none' ? 'none' : undefined,
    strict: options.strict ? 'true' : undefined,
    withoutEmail: options.withoutEmail ? 'true' : undefined,
    passwordSource: options.passwordSource,
    webhook: options.webhook,
  };
}

interface Started {
  accepted: ImportResult;
  places: Places;
  summary: Summary;
}

/** Every user is durable at the service by now. Follows the import to its end with `--watch`; a dry run, always. */
async function follow(session: Session, options: RunOptions, { accepted, places, summary }: Started): Promise<void> {
  const { out, api } = session;
  const { importId } = accepted;
  if (!options.dryRun) out.note(`Import ${importId} is accepted: every user is stored by the service.`);
  if (!options.dryRun && !options.watch) {
    out.result({ import: accepted, summary });
    out.line(`Watch progress: muster status ${importId} --watch`);
    return;
  }
  const result = await watchImport(session, importId);
  const failures = result.counts.failed > 0 ? await readFailures(api, importId, places) : [];
  if (out.json) out.result({ import: result, summary, failures });
  else showResult(out, result, groupLines('Failed, by reason', failures));
  for (const line of adviceLines(options, failures)) out.line(line);
  options.shell.exitCode = exitCodeFor(result);
}
