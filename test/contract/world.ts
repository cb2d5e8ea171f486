/** A service with the resources that the document's examples name, and callers with and without roles. */
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startApi, type TestApi, unique } from '../support/api.ts';
import { type Json, type Judge, type Operation, openJudge } from './judge.ts';
import { openSender, type Sender } from './send.ts';

export interface World {
  api: TestApi;
  document: Json;
  judge: Judge;
  sender: Sender;
  /** The operation with this id. */
  operation(id: string): Operation;
  stop(): Promise<void>;
}

/** @param workers whether workers run the imports */
export async function openWorld({
  env = {},
  workers,
}: {
  env?: Record<string, string>;
  workers: boolean;
}): Promise<World> {
  const api = await startApi({
    env: { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0', SMS_URL: 'http://127.0.0.1:9/', ...env },
  });
  const running = workers ? [startImportWorker(api.deps), startDispatcher(api.deps)] : [];
  const document = (await api.call('GET', '/openapi.json')).body;
  const judge = openJudge(document);
  const sender = openSender(api.url);
  return {
    api,
    document,
    judge,
    sender,
    operation(id) {
      const found = judge.operations.find((o) => o.id === id);
      if (!found) throw new Error(`the document has no operation ${id}`);
      return found;
    },
    async stop() {
      sender.close();
      await Promise.all(running.map((worker) => worker.stop()));
      await api.stop();
    },
  };
}

/** `/v2beta/users/{userId}` with the values of its parameters, percent-encoded. */
export function fill(path: string, values: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? name));
}

/** The examples of an operation's body; one empty example if it has no body. */
export function examplesOf(operation: Operation): [name: string, body: Json][] {
  const examples = operation.object.requestBody?.content['application/json']?.examples;
  if (!examples) return [['', undefined]];
  return Object.entries<Json>(examples).map(([name, { value }]) => [name, value]);
}

export function takesOrgHeader({ object }: Operation): boolean {
  return (object.parameters ?? []).some((p: Json) => p.$ref === '#/components/parameters/orgHeader');
}

/** A token of a machine user that is authenticated but has no role. */
export async function strangerToken(api: TestApi): Promise<string> {
  const { body } = await api.call('POST', '/management/v1/orgs', { name: unique('Elsewhere') });
  return (await api.machine(body.id)).token;
}
