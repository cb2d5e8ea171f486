/** What the peers of the bench have in common: what each is given, what it reports, and how it is waited for. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Skipped } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { findExecutable } from '../testbed/programs.ts';
import type { Kept } from '../testbed/stores.ts';

/** Moves the users of testbed/load.ts into a service that starts empty, each with its hash. */
export interface Peer {
  /** The way in that its documentation has for many users. */
  how: string;
  /**
   * Moves the users 0 … `users - 1`, after the user `users`, with whom everything is connected that connects with the
   * first user.
   * @throws Skipped when the machine or a registry lacks something
   * @throws Error when a user is missing afterwards, or the old password of one does not sign in
   */
  move(scope: Scope, task: Task): Promise<Moved>;
}

export interface Task {
  users: number;
  /** Prints a progress line. */
  say(line: string): void;
}

export interface Moved {
  /** From the first request, or the start of the command, until the last user is there. */
  ms: number;
  /** `Keycloak 26.7.3 on Java 25.0.3` */
  product: string;
  /** Whether the old password of a user signs in. */
  signsIn: boolean;
}

/** A registry needs seconds; a busy machine and a far registry need more. */
const INSTALL_MS = 1_200_000;
/** Far more than a million users take. */
export const MOVE_MS = 3_600_000;
/** Until a server answers. */
const START_MS = 300_000;
/** Far more than the slowest peer takes for one request of a thousand users. */
const REQUEST_MS = 300_000;
const POLL_MS = 100;

/** @throws Skipped if the machine lacks it */
export function programOrSkip(name: string): string {
  const path = findExecutable([name], { after: ['/usr/sbin', '/usr/local/sbin'] });
  if (path === undefined) throw new Skipped(`${name} is not on this machine`);
  return path;
}

/** What `install` returns. @throws Skipped with the first line of its error */
export async function fetchedOrSkip<T>(scope: Scope, product: string, install: (signal: AbortSignal) => Promise<T>) {
  const signal = await ending(scope);
  try {
    return await install(AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]));
  } catch (error) {
    const [why] = (error as Error).message.split('\n');
    throw new Skipped(`${product} could not be installed: ${why}`);
  }
}

/** Aborts when the scope ends. */
export async function ending(scope: Scope): Promise<AbortSignal> {
  const { signal } = await scope.start(
    async () => new AbortController(),
    async (controller) => controller.abort(),
  );
  return signal;
}

/** A folder that is removed with the scope. */
export function startFolder(scope: Scope): Promise<string> {
  return scope.start(
    () => mkdtemp(join(tmpdir(), 'muster-peer-')),
    (path) => rm(path, { recursive: true, force: true }),
  );
}

/** Waits until `check` is true. @throws Error with what the server wrote when it ends, or takes too long */
export async function untilReady(what: string, server: Kept, check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + START_MS;
  while (!(await check())) {
    if (server.isOver()) throw new Error(`${what} ended early:\n${server.output()}`);
    if (Date.now() > end) throw new Error(`${what} was not ready within ${START_MS / 1000} s:\n${server.output()}`);
    await sleep(POLL_MS);
  }
}

interface Request {
  method?: string;
  body?: unknown;
  form?: Record<string, string>;
  token?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: benches read answers as callers do
type Answer = any;

/** @returns the JSON of the answer @throws Error with the answer when its status is not 2xx */
export async function askJson(url: string, { method, body, form, token }: Request = {}): Promise<Answer> {
  const json = body === undefined ? undefined : { 'content-type': 'application/json' };
  const response = await fetch(url, {
    method: method ?? (body === undefined && form === undefined ? 'GET' : 'POST'),
    headers: { accept: 'application/json', ...json, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: form ? new URLSearchParams(form) : body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Whether something answers with success. */
export async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) }).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.ok === true;
}

/** Calls for the numbers 0 … `count - 1` in groups of `size`, at most `limit` calls at a time. */
export async function inGroups(
  count: number,
  { size, limit }: { size: number; limit: number },
  call: (numbers: number[]) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const from = next;
      next += size;
      await call(Array.from({ length: Math.min(size, count - from) }, (_, i) => from + i));
    }
  };
  await Promise.all(Array.from({ length: limit }, caller));
}

/** @throws Error unless the store of the peer has as many as were sent */
export function expectCount(what: string, found: number | undefined, sent: number): void {
  if (found !== sent) throw new Error(`${found} ${what} are there; ${sent} were sent.`);
}
