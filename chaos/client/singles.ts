/**
 * Sends single imports, and keeps what they were answered.
 *
 * With a key, the same request is repeated until the user exists, and once more after that. A timeout releases the key
 * (src/imports/intake/idempotency.ts), so the next request tries again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HASH } from '../../test/support/imports/imports.ts';
import type { PlannedSingle } from '../plan/singles.ts';
import type { Answer, Calls, Request } from './calls.ts';

export interface SentSingle {
  userName: string;
  email: string;
  mailDue: boolean;
  /** The answers that say for good what became of the user: 200, and 504 without a key. */
  answers: { status: number; userId?: string }[];
  /** An answer that no request of this kind may get, or that there was none in time. */
  wrong?: string;
}

const PAUSE_MS = 150;
/** Longer than SINGLE_IMPORT_TIMEOUT_MS. */
const PATIENCE_MS = 10_000;
/** 429, and what a service answers while it or its stores are broken. */
const LATER = [429, 503];
const isOpen = (answer: Answer | Error) => answer instanceof Error || LATER.includes(answer.status);

export function newSingle(prefix: string, { name, mailDue }: PlannedSingle): SentSingle {
  const userName = `${prefix}${name}`;
  return { userName, email: `${userName}@chaos.test`, mailDue, answers: [] };
}

/** @param api that is asked first */
export async function sendSingle(
  calls: Calls,
  orgId: string,
  planned: PlannedSingle,
  sent: SentSingle,
  api: number,
): Promise<void> {
  await sleep(planned.atMs);
  const request = requestOf(orgId, sent, planned.keyed);
  if (!planned.keyed) return note(sent, await calls.attempt(request, api));
  for (let repeats = 0; repeats < 2; repeats++) {
    const answer = await untilTold(calls, request, api);
    note(sent, answer);
    if (isOpen(answer)) sent.wrong ??= `no answer: ${shown(answer)}`;
    if (sent.wrong) return;
  }
}

async function untilTold(calls: Calls, request: Request, first: number): Promise<Answer | Error> {
  const start = performance.now();
  for (let api = first; ; api++) {
    const answer = await calls.attempt(request, api);
    const isLate = !(answer instanceof Error) && answer.status === 504;
    if (!(isOpen(answer) || isLate) || calls.isOverdue(start)) return answer;
    await sleep(PAUSE_MS);
  }
}

function requestOf(orgId: string, { userName, email, mailDue }: SentSingle, keyed: boolean): Request {
  const user = {
    userName,
    profile: { firstName: 'Ann', lastName: 'Arbor' },
    email: { email, isEmailVerified: !mailDue },
    hashedPassword: { value: HASH },
  };
  return {
    method: 'POST',
    path: '/management/v1/users/human/_import',
    body: JSON.stringify(user),
    headers: { 'x-service-orgid': orgId, ...(keyed ? { 'idempotency-key': userName } : {}) },
    patienceMs: PATIENCE_MS,
  };
}

function note(sent: SentSingle, answer: Answer | Error): void {
  if (answer instanceof Error || isOpen(answer)) return;
  const { status, body } = answer;
  if (status === 200 || status === 504)
    sent.answers.push(status === 200 ? { status, userId: body.userId } : { status });
  else sent.wrong ??= `answered ${shown(answer)}`;
}

function shown(answer: Answer | Error): string {
  return answer instanceof Error ? String(answer.cause ?? answer) : `${answer.status} ${answer.text.slice(0, 300)}`;
}
