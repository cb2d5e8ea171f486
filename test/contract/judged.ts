/** Calls operations, checks each response against the document, and collects ids from the responses. */
import assert from 'node:assert/strict';
import { publicPaths } from '../../src/contract/document.ts';
import { OPERATIONS, type OperationId } from '../../src/contract/operations.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import type { Permission } from '../../src/contract/roles.ts';
import type { Given, Json, Nowhere, Operation } from './judge.ts';
import type { Sent } from './send.ts';
import { type Call, type Context, NEEDS } from './story.ts';
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
  /** Calls each operation, and those that need no caller, with its examples; fails unless all succeed. */
  callAll(): Promise<void>;
}

const publicId = (path: string) => publicPaths[path]?.get?.operationId ?? '';

/** Members of responses that later steps need. */
const TOLD = [
  'totpId',
  'importId',
  'tokenId',
  'keyId',
  'sessionId',
  'clientId',
  'sourceId',
  'idpId',
  'verificationCode',
  'secret',
];

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

  const make: Context['make'] = async (id, { example, ...options } = {}) => {
    const operation = world.operation(id);
    const [, body] = examplesOf(operation).findLast(([name]) => name === (example ?? name)) ?? [];
    await succeed(operation, { body, ...options });
  };
  const context: Context = { world, known, make };

  async function callWithExamples(operation: Operation): Promise<void> {
    const { before, after, at, headers, body } = NEEDS[operation.id] ?? {};
    for (const [name, example] of examplesOf(operation)) {
      await before?.(context, name);
      await succeed(operation, { body: body ? body(known) : example, ...(headers ? { headers } : {}) }, at);
    }
    await after?.(context);
  }

  async function succeed(operation: Operation, { body, headers, token }: Call, at?: Record<string, string>) {
    const sent = requestOf(operation, body, at ? { ...known, ...at } : known);
    // What only the instance may do to an organization would stop the one of all other calls.
    const isAbove = takesOrgHeader(operation) && PERMISSIONS[operation.id as OperationId].roles.length === 0;
    const org: Record<string, string> = isAbove ? { 'x-service-orgid': 'globex' } : {};
    const answer = await call(operation, { ...sent, headers: { ...sent.headers, ...org, ...headers } }, token);
    assert.ok(answer.status < 300, `${operation.id}: ${answer.status} ${JSON.stringify(answer.body)}`);
    for (const told of TOLD) if ((answer.body as Json)[told]) known[told] = (answer.body as Json)[told];
  }

  return {
    known,
    exercised,
    call,
    requestOf,
    ofApi: () =>
      world.judge.operations.filter(
        ({ id, path }) => (Object.hasOwn(PERMISSIONS, id) || path.startsWith('/admin/')) && !isTriedElsewhere(id),
      ),
    async callAll() {
      const ids = [...Object.keys(publicPaths).map(publicId), ...OPERATIONS.map(({ id }) => id)];
      for (const id of ids.filter((one) => !isTriedElsewhere(one))) await callWithExamples(world.operation(id));
    },
  };
}

/**
 * It needs an authenticator, or an address where browsers have passkeys: see test/signin/passkeys/registration.test.ts.
 * A sample goes to a person, and these callers are machines: see test/directory/mails.test.ts.
 */
function isTriedElsewhere(id: string): boolean {
  const { roles, self } = (PERMISSIONS[id as keyof typeof PERMISSIONS] ?? { roles: ['none'] }) as Permission;
  return (
    (self === true && roles.length === 0) ||
    ['createPasskeyRegistrationLink', 'removePasskey', 'sendSampleMail'].includes(id)
  );
}
