/** Callers who import, log in, create and search users without pause, through a proxy that knows the living APIs. */
import assert from 'node:assert/strict';
import type { Answer } from '../support/answers.ts';
import { openCalls } from '../support/calls.ts';
import { bulk, OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';

export interface Load {
  /** Sends further requests to this API too. */
  add(url: string): void;
  /** Sends no further request to this API, and waits until those that it has are answered. */
  remove(url: string): Promise<void>;
  /** Waits for so many rounds that begin after this call. @throws the first failure of a request */
  rounds(count: number): Promise<void>;
  /** @returns the number of users that were written; @throws the first failure of a request */
  stop(): Promise<number>;
}

const CALLERS = 3;
const USERS = 20;

/** @param token of an administrator of the instance */
export function startLoad(token: string, orgId: string): Load {
  /** Requests that are not answered yet, by API. */
  const waiting = new Map<string, number>();
  /** Those of APIs that get no more. */
  const leaving = new Map<string, number>();
  let turn = 0;
  let done = 0;
  let failure: unknown;
  let isStopping = false;

  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const url = [...waiting.keys()][turn++ % waiting.size] as string;
    waiting.set(url, (waiting.get(url) ?? 0) + 1);
    const answer = await openCalls(() => url, token)
      .call(method, path, body, { orgId })
      .finally(() => leave(url));
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const leave = (url: string) => {
    const counts = waiting.has(url) ? waiting : leaving;
    counts.set(url, (counts.get(url) as number) - 1);
  };

  const caller = async (name: string) => {
    for (let round = 0; !isStopping && failure === undefined; round++) {
      await oneRound(call, orgId, `${name}-${round}-`);
      done++;
    }
  };
  const callers = Array.from({ length: CALLERS }, (_, i) => `caller${i}`);
  let ended: Promise<unknown> | undefined;

  return {
    add(url) {
      waiting.set(url, 0);
      ended ??= Promise.all(callers.map(caller)).catch((error) => {
        failure = error;
      });
    },
    async remove(url) {
      leaving.set(url, waiting.get(url) as number);
      waiting.delete(url);
      await waitFor(() => leaving.get(url) === 0, { what: `the last answer of ${url}` });
    },
    async rounds(count) {
      const from = done;
      await waitFor(() => failure || done >= from + CALLERS + count, {
        what: 'rounds of requests',
        timeoutMs: 300_000,
      });
      if (failure) throw failure;
    },
    async stop() {
      isStopping = true;
      await ended;
      if (failure) throw failure;
      return done * (USERS + 2);
    },
  };
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** Writes USERS users by a bulk import, one by a single import, and one by the call for one. */
async function oneRound(call: Call, orgId: string, prefix: string): Promise<void> {
  const { importId } = (await call('POST', '/admin/v1/import', bulk(orgId, people(prefix, USERS)))).body;
  const result = async () => (await call('GET', `/admin/v1/imports/${importId}`)).body;
  await waitFor(async () => (await result()).state !== 'IMPORT_STATE_RUNNING', {
    what: 'the import',
    timeoutMs: 180_000,
  });
  const { state, counts } = await result();
  assert.deepEqual([state, counts.succeeded], ['IMPORT_STATE_SUCCEEDED', USERS]);
  await call('GET', `/admin/v1/imports/${importId}/items`);
  const checks = { user: { userId: `id-${prefix}0` }, password: { password: OLD_PASSWORD } };
  await call('POST', '/v2beta/sessions', { checks });
  await call('POST', '/management/v1/users/human/_import', entry(`${prefix}single`).user);
  const human = {
    username: `${prefix}one`,
    profile: { givenName: 'One', familyName: 'User' },
    email: { email: 'one@example.com', isVerified: true },
    password: { password: 'correct horse battery' },
  };
  const { userId } = (await call('POST', '/v2beta/users/human', human)).body;
  await call('GET', `/v2beta/users/${userId}`);
  await call('POST', '/v2beta/users', { query: { limit: 10 } });
}
