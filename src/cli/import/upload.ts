/**
 * Streams a conversion as the body of one import, and sends it again when the connection breaks; checks users that are
 * at the service as a draft.
 *
 * Guarantee: every attempt sends the same bytes and the same `Idempotency-Key`, so all attempts together make one
 * import, whichever of them completes; an attempt that is cut off leaves nothing at the service. Ctrl-C stops watching a
 * check, not the check; the draft stays, and can be started or discarded.
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { Answer, Query, Sent } from '../../contract/client.ts';
import type { Conversion } from '../../sources/convert.ts';
import { watchImport } from '../follow/follow.ts';
import type { ImportResult } from '../follow/result.ts';
import { type Api, Unreachable } from '../service/api.ts';
import { openOutage, PATIENCE } from '../service/events.ts';
import type { Session } from '../service/session.ts';
import { Failure, Interrupted, orAborted, untilInterrupted } from '../terminal/failure.ts';
import type { RunOptions } from './options.ts';
import type { Places } from './read.ts';
import type { Pass } from './summary.ts';

/** What the service answers when every user is stored. */
export type Accepted = Answer<'importUsers'>;

export interface Upload {
  conversion: Conversion;
  /** Refilled by each attempt. */
  places: Places;
  query: Query<'importUsers'>;
  idempotencyKey: string;
  /** More headers of the request. */
  headers?: Record<string, string>;
  /** Sees what an attempt sends. */
  pass?: () => Pass;
}

export interface UploadEvents {
  /** The connection broke, or the service asks to wait; another attempt follows after this many seconds. */
  again(why: string, seconds: number): void;
}

export const TOO_MANY_DRAFTS = 'IMPORT-DRAFTS';
const TRIES = 6;
const FIRST_WAIT_S = 1;
const LONGEST_WAIT_S = 30;
/** Text is passed to the connection in pieces of about this size. */
const PIECE_BYTES = 2 ** 17;

/** Sends the users. @throws Failure when the service refuses, or cannot be reached in several attempts @throws Interrupted */
export function upload(api: Api, job: Upload, events: UploadEvents): Promise<Accepted> {
  const left = new Interrupted(
    'Interrupted while the users were sent. The service drops an incomplete upload, and nothing of it was imported.',
    job.query.draft === 'true'
      ? 'If the upload was complete, the users are kept as a draft: `muster status` shows it.'
      : 'If the upload was complete, the import continues: `muster status` shows it.',
  );
  const attempt = (signal: AbortSignal) => untilTaken(() => send(api, job, signal), events.again, signal);
  return untilInterrupted(left, (signal) => orAborted(signal, attempt(signal)));
}

/** Repeats a request while the connection breaks, or the service asks to wait. @throws Failure */
export async function untilTaken<T>(
  request: () => Promise<T>,
  again: UploadEvents['again'],
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      const seconds = waitBefore(error, tries);
      if (seconds === undefined) throw error;
      again((error as Failure).message, seconds);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
}

/** Seconds to wait before the next attempt; undefined when another would end the same way. */
function waitBefore(error: unknown, tries: number): number | undefined {
  if (tries >= TRIES) return undefined;
  if (error instanceof Unreachable) return Math.min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (tries - 1));
  // Waiting does not make the drafts fewer.
  return error instanceof Failure && error.id !== TOO_MANY_DRAFTS ? error.retryAfter : undefined;
}

async function send(api: Api, job: Upload, signal: AbortSignal): Promise<Accepted> {
  const { query, idempotencyKey, headers } = job;
  job.places.clear();
  const isFar = !isLoopback(api.url);
  const lines = Readable.from(bodyOf(job), { objectMode: false });
  let broken: Error | undefined;
  lines.on('error', (error) => {
    broken = error;
  });
  // On the same machine, compression would cost more than it saves.
  const body = isFar ? lines.pipe(createGzip({ level: 1 })) : lines;
  if (isFar) lines.on('error', (error) => body.destroy(error));
  try {
    return await api.call('importUsers', {
      query,
      headers: {
        'content-type': 'application/x-ndjson',
        'idempotency-key': idempotencyKey,
        ...headers,
        ...(isFar ? { 'content-encoding': 'gzip' } : {}),
      },
      signal,
      // Takes one piece when one is sent; `Readable.toWeb` would buffer thousands.
      stream: ReadableStream.from<Uint8Array>(body),
    });
  } catch (error) {
    // To the connection, a file that can no longer be read looks like a service that went away.
    throw broken ?? error;
  } finally {
    lines.destroy();
    body.destroy();
  }
}

async function* bodyOf({ conversion, places, pass: openPass }: Upload): AsyncGenerator<Buffer> {
  const pass = openPass?.();
  let piece = '';
  for await (const outcomes of conversion.outcomes()) {
    for (const outcome of outcomes) {
      pass?.see(outcome);
      const { entry, file, line } = outcome;
      if (!entry) continue;
      // Before the next user, so that something is left to send when `end` has seen them all.
      if (piece.length >= PIECE_BYTES) {
        yield Buffer.from(piece);
        piece = '';
      }
      places.push(file, line);
      piece += `${JSON.stringify(entry)}\n`;
    }
  }
  pass?.end();
  if (piece !== '') yield Buffer.from(piece);
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

const EVERY_MS = 200;

/** The options of `_check` and `_start`. */
export function settingsOf(options: RunOptions): Omit<Sent<'startImport'>, 'webhook'> {
  const { timeout, onExisting, mails, enterpriseMailCodes } = options;
  return { timeout, onExisting, mails, enterpriseMailCodes };
}

/** Checks a draft: the result of a dry run of its users, once it has ended. @throws Failure @throws Interrupted */
export function checkDraft(session: Session, importId: string, options: RunOptions): Promise<ImportResult> {
  const { api, out } = session;
  const left = new Interrupted(
    'Interrupted while the users were checked. The service keeps them as a draft; nothing was imported.',
    `Start it with \`muster start ${importId}\`, or drop it with \`muster discard ${importId}\`.`,
  );
  return untilInterrupted(left, async (signal) => {
    const again = (why: string, seconds: number) => out.note(`${why} Trying again in ${seconds} s.`);
    const body = settingsOf(options);
    await untilTaken(() => api.call('checkImport', { importId }, { body, signal }), again, signal);
    return watchImport(session, await checkId(session, importId, signal), { signal });
  });
}

/** The number of the dry run, once a worker has begun it. */
async function checkId({ api, out }: Session, importId: string, signal: AbortSignal): Promise<string> {
  const outage = openOutage({
    patience: PATIENCE,
    signal,
    advice: 'Check again once the service is back.',
    onLost: ({ message }) => out.note(`${message} Trying again …`),
  });
  let isWarned = false;
  for (;;) {
    const now = await api.call('getImport', { importId }, { signal }).catch((fault) => outage.wait(fault));
    const { check, error } = now?.draft ?? {};
    if (check) return check.importId;
    if (error) throw new Failure(error.message);
    if (now) outage.over();
    if (now?.missingRoles?.length && !isWarned) {
      out.note(`Waiting for a worker with the role ${now.missingRoles.join(', ')}: none is running.`);
      isWarned = true;
    }
    await sleep(EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
