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
/** For a whole import. */
const PATIENCE_MS = 30 * 60_000;

export interface Imports {
  /** The id of one of the running imports, each as often; of the one that was accepted last if none is running. */
  any(): string;
  /** Users written so far. */
  users(): number;
}

interface Load {
  client: Client;
  orgId: string;
  /** Users of each import. */
  users: number;
  ending: AbortSignal;
}

interface Seen {
  onAccepted(importId: string): void;
  /** Gets how many users were written since the last call. */
  onWritten(users: number): void;
}

/** Starts them; resolves when the first is accepted. */
export async function startImports(load: Load, meter: Meter): Promise<Imports> {
  const running = new Set<string>();
  let newest = '';
  let written = 0;
  const first = Promise.withResolvers<void>();
  const seen: Seen = {
    onAccepted(importId) {
      newest = importId;
      running.add(importId);
      first.resolve();
    },
    onWritten(users) {
      written += users;
    },
  };
  const loop = async () => {
    while (!load.ending.aborted) {
      const importId = await meter.run(load.ending, () => importOnce(load, seen), PATIENCE_MS);
      if (importId) running.delete(importId);
      else await sleep(POLL_MS);
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
async function importOnce({ client, orgId, users, ending }: Load, { onAccepted, onWritten }: Seen): Promise<string> {
  const from = nextUser(users);
  const { importId } = await client.upload(importBody(users, orgId, (n) => entry(from + n)));
  onAccepted(String(importId));
  for (let written = 0; !ending.aborted; ) {
    const { state, counts } = await client.call('GET', `/admin/v1/imports/${importId}`);
    onWritten(counts.succeeded - written);
    written = counts.succeeded;
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
