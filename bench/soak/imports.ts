/** Bulk imports, one after the other without a pause, of users of whom some get a mail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../testbed/client.ts';
import { importBody, user, userId } from '../testbed/load.ts';
import type { Meter } from './meter.ts';

/** One user in so many has an address to verify. */
const MAILED_EVERY = 50;
/** So that there is always a running one. */
const AT_ONCE = 2;
const POLL_MS = 500;

export interface Imports {
  /** The id of one of the running imports, each as often; of the one that was accepted last if none is running. */
  any(): string;
  /** Users written so far by imports that have ended. */
  users(): number;
}

interface Load {
  client: Client;
  orgId: string;
  /** Users of each import. */
  users: number;
  ending: AbortSignal;
}

/** Starts them; resolves when the first is accepted. */
export async function startImports(load: Load, meter: Meter): Promise<Imports> {
  const running = new Set<string>();
  let newest = '';
  let written = 0;
  const first = Promise.withResolvers<void>();
  const onAccepted = (importId: string) => {
    newest = importId;
    running.add(importId);
    first.resolve();
  };
  const loop = async () => {
    while (!load.ending.aborted) {
      const importId = await meter.run(load.ending, () => importOnce(load, onAccepted));
      if (importId) written += load.users;
      else await sleep(POLL_MS);
      running.delete(importId ?? '');
    }
  };
  for (let n = 0; n < AT_ONCE; n++) void loop();
  await first.promise;
  return {
    any: () => [...running][Math.floor(Math.random() * running.size)] ?? newest,
    users: () => written,
  };
}

let next = 0;

/** The number of a user whom nobody else has. */
export function nextUser(count = 1): number {
  next += count;
  return next - count;
}

/** Returns its id. @throws Error unless every user is imported */
async function importOnce({ client, orgId, users, ending }: Load, onAccepted: (id: string) => void): Promise<string> {
  const from = nextUser(users);
  const { importId } = await client.upload(importBody(users, orgId, (n) => entry(from + n)));
  onAccepted(String(importId));
  while (!ending.aborted) {
    const { state, counts } = await client.call('GET', `/admin/v1/imports/${importId}`);
    if (state === 'IMPORT_STATE_SUCCEEDED' && counts.succeeded === users) return String(importId);
    if (state !== 'IMPORT_STATE_RUNNING') throw new Error(`An import ended as ${state}: ${JSON.stringify(counts)}`);
    await sleep(POLL_MS);
  }
  throw new Error('The run ends.');
}

export function entry(n: number): object {
  const { email, ...rest } = user(n);
  const isEmailVerified = n % MAILED_EVERY !== 0;
  return { userId: userId(n), user: { ...rest, email: { ...email, isEmailVerified } } };
}
