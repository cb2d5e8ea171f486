/** The caller of one import: sends it, and acts on it as planned, whatever fails meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Action, PlannedImport } from '../plan/imports.ts';
import type { Answer, Calls, Request } from './calls.ts';
import { bodyOf, type Person } from './people.ts';
import { readReport } from './report.ts';
import { idOf, type SentImport } from './sent.ts';

/** Longer than any fault, shorter than a round's patience. */
const AGAIN = '10m';
const POLL_MS = 100;
const NDJSON = 'application/x-ndjson';
const PIECES_AT_ONCE = 20;
/** How long the answer to a body may take, and in addition for each of its users, in milliseconds. */
const ANSWER_MS = 10_000;
const USER_MS = 1;

export interface Caller {
  calls: Calls;
  /** The URL for webhooks. */
  hook: string;
  /** The organization that signs them. */
  signer: string;
}

/** Runs the whole story. @throws Error when the service does not answer */
export async function tell(caller: Caller, planned: PlannedImport, people: Person[], sent: SentImport): Promise<void> {
  await sleep(planned.atMs);
  const request = importRequest(caller, planned, people, sent.name);
  const send = async (api: number) => {
    const answer = await caller.calls.call(request(), api);
    if (answer.status !== 202) throw new Error(`The import ${sent.name} was answered ${answer.status}: ${answer.text}`);
    sent.importIds.add(answer.body.importId);
  };
  await Promise.all(Array.from({ length: planned.atOnce }, (_, i) => send(i)));
  for (const { afterMs, action } of planned.steps) {
    await sleep(afterMs);
    if (action === 'repeat') await send(1);
    else await act(caller, action, sent);
  }
}

/** Each call gives the request again: a body that is read as a stream can be sent once. */
function importRequest({ hook, signer }: Caller, planned: PlannedImport, people: Person[], key: string): () => Request {
  const timeout = `${planned.timeoutMs}ms`;
  const pieces = bodyOf(people, planned.format, timeout);
  const query = new URLSearchParams({ onExisting: planned.onExisting, mails: planned.mails });
  if (planned.format === 'ndjson') query.set('timeout', timeout);
  if (planned.dryRun) query.set('dryRun', 'true');
  if (planned.webhook) query.set('webhook', hook);
  return () => ({
    method: 'POST',
    path: `/admin/v1/import?${query}`,
    headers: {
      'idempotency-key': key,
      'x-service-orgid': signer,
      ...(planned.format === 'ndjson' ? { 'content-type': NDJSON } : {}),
    },
    body: planned.uploadMs > 0 ? () => slowly(pieces, planned.uploadMs) : pieces.join(''),
    patienceMs: planned.uploadMs + ANSWER_MS + people.length * USER_MS,
  });
}

async function* slowly(pieces: string[], ms: number): AsyncIterable<Buffer> {
  const pause = (ms / pieces.length) * PIECES_AT_ONCE;
  for (let at = 0; at < pieces.length; at += PIECES_AT_ONCE) {
    yield Buffer.from(pieces.slice(at, at + PIECES_AT_ONCE).join(''));
    await sleep(pause);
  }
}

async function act({ calls }: Caller, action: Action, sent: SentImport): Promise<void> {
  const path = `/admin/v1/imports/${idOf(sent)}`;
  if (action === 'end') return untilEnded(calls, path, sent);
  if (action === 'report') return readReport(calls, path, sent);
  const runs = action === 'resume' || action === 'retry';
  // From the first attempt on, it may run again.
  if (runs) endStop(sent, Date.now());
  if (action === 'send_mails') sent.held = false;
  const body = runs ? JSON.stringify({ timeout: AGAIN }) : '{}';
  const answer = await calls.call({ method: 'POST', path: `${path}/_${action}`, body });
  if (answer.status === 200) noteStop(answer, sent);
  else if (answer.status !== 400)
    throw new Error(`_${action} of ${sent.name} was answered ${answer.status}: ${answer.text}`);
}

const STOPPED = ['PAUSED', 'CANCELLED', 'TIMED_OUT'].map((state) => `IMPORT_STATE_${state}`);

/** If the answer says that the import has stopped, no user may be written from now on. */
function noteStop({ body }: Answer, sent: SentImport): void {
  const isOpen = sent.stopped.at(-1)?.until === Number.POSITIVE_INFINITY;
  if (isOpen || !STOPPED.includes(body.state)) return;
  sent.stopped.push({ from: Date.now(), until: Number.POSITIVE_INFINITY });
}

function endStop(sent: SentImport, at: number): void {
  const last = sent.stopped.at(-1);
  if (last) last.until = Math.min(last.until, at);
}

/** Waits until nothing runs any more: the import has ended or is paused. */
async function untilEnded(calls: Calls, path: string, sent: SentImport): Promise<void> {
  for (;;) {
    const answer = await calls.call({ method: 'GET', path });
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`);
    noteStop(answer, sent);
    if (!['IMPORT_STATE_RUNNING', 'IMPORT_STATE_UNDOING'].includes(answer.body.state)) return;
    await sleep(POLL_MS);
  }
}
