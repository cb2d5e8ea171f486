/**
 * An import from the command line, step by step: open the files, send their users while they are read, show what will
 * happen, check and ask if that is needed, start, follow.
 *
 * Guarantee: the users are sent once, and none is imported before the files have been read completely: the last bytes
 * are held back until then, and a draft is started only after the answer.
 * On crash: while sending, nothing remains at the service; afterwards the import continues without this command, and a
 * draft stays until it is started, discarded or expires.
 */
import { randomUUID } from 'node:crypto';
import { type Conversion, openConversion } from '../../sources/convert.ts';
import type { Summary } from '../../sources/summary.ts';
import { findOrg } from '../service/find-org.ts';
import { pepperHeaders } from '../service/pepper.ts';
import type { Session } from '../service/session.ts';
import { Failure } from '../terminal/failure.ts';
import { Interrupted, orAborted, untilInterrupted } from '../terminal/interrupt.ts';
import { type Chosen, chooseFiles, describeFiles } from './choose.ts';
import { mayAsk, requireStated } from './confirm.ts';
import { confirmSource } from './confirm-source.ts';
import { follow, type Sent } from './follow.ts';
import { fromDraft } from './from-draft.ts';
import { openGauge } from './gauge.ts';
import { convertOptions } from './options.ts';
import { openPass, requireUsers, showSummary, Unsendable } from './pass.ts';
import { openPlaces } from './places.ts';
import { openReading, type Reading, readThrough } from './read-through.ts';
import type { RunOptions } from './run-options.ts';
import { requireTimeout } from './timeout.ts';
import { TOO_MANY_DRAFTS, upload } from './upload.ts';

/** @throws Failure @throws UsageError */
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

/** With the headers of the pepper. */
interface Sendable extends Opened {
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
    const job = { source: chosen.source, files: chosen.files, orgId, idPrefix: options.idPrefix, options: given };
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
    const summary = await readThrough(out, conversion, reading, { atSource: options.passwordSource !== undefined });
    showSummary(out, summary, options);
    requireUsers(summary, options, chosen);
    throw new Error('the files changed while they were read');
  } finally {
    reading.onRead(() => {});
    gauge.stop();
  }
}

/** What a draft is started with is asked for then. */
function queryOf(options: RunOptions, source: string, isDraft: boolean): Record<string, string | undefined> {
  const ofUsers = {
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
    webhook: options.webhook,
  };
}
