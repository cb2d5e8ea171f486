/**
 * Watches an import until it ends, or its mails until none is waiting. With `--json` no progress is shown.
 *
 * Guarantee: Ctrl-C stops watching, not the import. It waits through a lost connection or a restart of the service, and
 * reports that in one line. The terminal is left as it was found.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, Stranger, Unreachable } from '../service/api.ts';
import { eventData, type OutageOptions, openOutage, PATIENCE, type Patience } from '../service/events.ts';
import type { CommonOptions, Session } from '../service/session.ts';
import { Interrupted, untilInterrupted } from '../terminal/failure.ts';
import { type Display, openDisplay, rateOf, type Step } from '../terminal/output.ts';
import { type ImportProgress, isEnded, remainingText, stateText } from './progress.ts';
import { exitCodeFor, type ImportResult, showResult } from './result.ts';

/**
 * Shows the result; with `watch` the final one, and only then a bad outcome sets the exit code.
 * @param asked the state that the command aims for, if that state ends the import
 */
export async function conclude(
  session: Session,
  result: ImportResult,
  { watch = false, shell }: Pick<CommonOptions, 'shell'> & { watch?: boolean },
  asked?: string,
): Promise<void> {
  const last = watch ? await watchImport(session, result.importId) : result;
  showResult(session.out, last);
  if (watch) shell.exitCode = exitCodeFor(last, asked);
}

export interface WatchOptions {
  /** In place of Ctrl-C, for callers that handle it themselves. */
  signal?: AbortSignal;
  patience?: Patience;
}

/**
 * Returns the result once the import has ended; waits while it is paused.
 * @throws Failure when the service goes away and does not come back, or when the person presses Ctrl-C
 */
export function watchImport(
  session: Pick<Session, 'api' | 'out'>,
  importId: string,
  { signal, patience }: WatchOptions = {},
): Promise<ImportResult> {
  if (signal) return showUntilEnd(session, importId, signal, patience);
  const left = new Interrupted(
    `No longer watching import ${importId}, which continues.`,
    `Watch again: muster status ${importId} --watch`,
  );
  return untilInterrupted(left, (interruption) => showUntilEnd(session, importId, interruption, patience));
}

async function showUntilEnd(
  { api, out }: Pick<Session, 'api' | 'out'>,
  importId: string,
  signal: AbortSignal,
  patience: Patience | undefined,
): Promise<ImportResult> {
  const display = openDisplay(out);
  try {
    return await follow(api, importId, {
      signal,
      patience,
      onProgress: (progress) => display.update(step(progress)),
      onLost: ({ message }) => display.note(`  ${message} Trying again …`),
    });
  } finally {
    display.stop();
  }
}

function step(progress: ImportProgress): Step {
  const { counts, usersPerSecond } = progress;
  if (progress.state === 'IMPORT_STATE_UNDOING') {
    return { done: counts.undone, total: counts.undone + counts.succeeded, text: 'users undone' };
  }
  const done = counts.total - counts.pending;
  const rate = rateOf(usersPerSecond);
  const rest = progress.state === 'IMPORT_STATE_PAUSED' ? stateText(progress) : remainingText(progress);
  return { done, total: counts.total, text: `users  ${rate}  ${rest}` };
}

const EVENT_STREAM = 'text/event-stream';

export interface FollowOptions {
  /** Stops following; its reason is thrown. */
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  onLost: OutageOptions['onLost'];
  patience?: Patience | undefined;
}

/**
 * Follows the events of an import, and returns the result once it has ended.
 * @throws Failure when the service is away for longer than `patience` allows, or refuses
 */
export async function follow(api: Api, importId: string, options: FollowOptions): Promise<ImportResult> {
  const { signal, onLost, onProgress, patience = PATIENCE } = options;
  const advice = `Watch again once it is back: muster status ${importId} --watch`;
  const outage = openOutage({ patience, signal, onLost, advice });
  for (;;) {
    try {
      return await readToTheEnd();
    } catch (fault) {
      await outage.wait(fault);
    }
  }

  async function readToTheEnd(): Promise<ImportResult> {
    for await (const progress of progressOf(api, importId, signal, patience)) {
      outage.over();
      onProgress(progress);
      if (isEnded(progress)) return api.call('getImport', { importId }, { signal });
    }
    throw new Unreachable(api.url, { message: 'the connection was closed' });
  }
}

async function* progressOf(
  api: Api,
  importId: string,
  signal: AbortSignal,
  { silenceMs }: Patience,
): AsyncGenerator<ImportProgress> {
  const silence = new AbortController();
  const tooQuiet = () => silence.abort(new Unreachable(api.url, { message: 'no data arrived for too long' }));
  const timer = setTimeout(tooQuiet, silenceMs);
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const response = await api.open('streamImportEvents', { importId }, { signal: either });
    if (!response.headers.get('content-type')?.startsWith(EVENT_STREAM)) throw new Stranger(api.url);
    for await (const data of eventData(heard(response.body as ReadableStream<Uint8Array>, timer))) {
      yield JSON.parse(data) as ImportProgress;
    }
  } catch (fault) {
    if (signal.aborted) throw signal.reason;
    if (silence.signal.aborted) throw silence.signal.reason;
    if (fault instanceof SyntaxError) throw new Stranger(api.url);
    throw fault instanceof TypeError ? new Unreachable(api.url, fault) : fault;
  } finally {
    clearTimeout(timer);
  }
}

/** Every byte counts as a sign of life. */
async function* heard(bytes: AsyncIterable<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    timer.refresh();
    yield chunk;
  }
}

/** Pause between two looks at the mails. */
const EVERY_MS = 1000;

/**
 * Watches the mails of an import until none is waiting.
 * @throws Failure when the service goes away and does not come back, or when the person presses Ctrl-C
 */
export function watchMails(session: Session, importId: string): Promise<ImportResult> {
  const again = `muster status ${importId}`;
  const left = new Interrupted(
    'No longer watching the mails; the service continues to send them.',
    `See how many are left: ${again}`,
  );
  return untilInterrupted(left, async (signal) => {
    const display = openDisplay(session.out);
    const onLost = ({ message }: Error) => display.note(`  ${message} Trying again …`);
    const outage = openOutage({ patience: PATIENCE, signal, onLost, advice: `Check again once it is back: ${again}` });
    try {
      for (;;) {
        const result = await poll(session, importId, signal, display).catch((fault) => outage.wait(fault));
        if (result?.mails.pending === 0) return result;
        if (result) outage.over();
        await sleep(EVERY_MS, undefined, { signal }).catch(() => {
          throw left;
        });
      }
    } finally {
      display.stop();
    }
  });
}

async function poll({ api }: Session, importId: string, signal: AbortSignal, display: Display): Promise<ImportResult> {
  const result = await api.call('getImport', { importId }, { signal });
  const { pending, sent, failed } = result.mails;
  display.update({ done: sent + failed, total: pending + sent + failed, text: 'mails' });
  return result;
}
