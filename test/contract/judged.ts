/** Calls operations, checks each response against the document, and collects ids from the responses. */
import assert from 'node:assert/strict';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import type { Given, Json, Nowhere, Operation } from './judge.ts';
import type { Sent } from './send.ts';
import { STORY, type Step } from './story.ts';
import { examplesOf, fill, takesOrgHeader, type World } from './world.ts';

export interface Judged {
  /** Ids and codes from responses, by the name of their parameter. */
  known: Record<string, string>;
  /** The statuses received, by operation. */
  exercised: Map<string, Set<number>>;
  /** Sends a request, and fails unless the response matches the document. Default: the administrator's token. */
  call(to: Operation | Nowhere, sent: Sent, token?: string | null): Promise<Given>;
  requestOf(operation: Operation, body: unknown, values?: Record<string, string>): Sent;
  /** The operations that require a role. */
  ofApi(): Operation[];
  /** Calls each operation with its examples; fails unless all succeed. */
  tell(): Promise<void>;
}

/** Members of responses that later steps need. */
const TOLD = ['importId', 'tokenId', 'keyId', 'sessionId', 'clientId', 'sourceId', 'verificationCode', 'secret'];

export function openJudged(world: World): Judged {
  const known: Judged['known'] = { orgId: 'acme', userId: 'bob', index: '0' };
  const exercised: Judged['exercised'] = new Map();

  const call: Judged['call'] = async (to, sent, token = world.api.token) => {
    const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
    const answer = await world.sender.send({ ...sent, headers: { ...authorization, ...sent.headers } });
    const what = `${sent.method} ${sent.path} ${JSON.stringify(sent.body)?.slice(0, 300)}`;
    const problems = world.judge.problems(to, answer);
    assert.deepEqual(problems, [], `${what} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    const id = 'id' in to ? to.id : 'nowhere';
    exercised.set(id, (exercised.get(id) ?? new Set()).add(answer.status));
    return answer;
  };

  const requestOf: Judged['requestOf'] = (operation, body, values = known) => {
    const headers: Record<string, string> = takesOrgHeader(operation) ? { 'x-service-orgid': 'acme' } : {};
    const onMachine = values === known && operation.path.startsWith('/management/v1/users/{userId}/');
    const path = fill(operation.path, onMachine ? { ...known, userId: 'importer' } : values);
    return { method: operation.method, path, headers, body };
  };

  async function take(step: Step): Promise<void> {
    const operation = world.operation(step.id);
    await step.before?.({ world, known });
    for (const [name, example] of examplesOf(operation)) {
      if (step.example !== undefined && step.example !== name) continue;
      const body = step.body ? step.body(example, { world, known }) : example;
      const sent = requestOf(operation, body, step.at ? { ...known, ...step.at } : known);
      const answer = await call(operation, { ...sent, headers: { ...sent.headers, ...step.headers } }, step.token);
      assert.ok(answer.status < 300, `${step.id} ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
      for (const told of TOLD) if ((answer.body as Json)[told]) known[told] = (answer.body as Json)[told];
    }
  }

  return {
    known,
    exercised,
    call,
    requestOf,
    ofApi: () =>
      world.judge.operations.filter(({ id, path }) => Object.hasOwn(PERMISSIONS, id) || path.startsWith('/admin/')),
    async tell() {
      for (const step of STORY) await take(step);
    },
  };
}
