/**
 * Runs one bulk import from the request until its last user can be read. It polls the list of imports, which is
 * cheapest for the service because it contains no users. It fails when not every user succeeded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sample } from '../machine/growth.ts';
import { user, userId } from './load.ts';
import type { Service } from './testbed.ts';

/** A low rate, so that polling costs next to nothing. */
const POLL_MS = 100;

export interface Passed {
  /** From the request until the last user was read. */
  ms: number;
  /** From the request to its 202. */
  acceptedMs: number;
  /** How many users had ended when, in milliseconds from the request. */
  samples: Sample[];
}

export interface ImportOptions {
  pollMs?: number;
  onAccepted?: () => void;
  /** The id of the last user of the body. */
  lastId?: string;
}

/** Imports one user, so that everything that connects with the first job is connected. */
export async function proveReady({ client, orgId }: Service, n: number): Promise<void> {
  await client.call('POST', '/management/v1/users/human/_import', user(n), orgId);
}

/**
 * Sends the import and waits for its end; no other import may run meanwhile.
 * @param body of the users 0 … `users - 1`
 * @throws Error when not every user succeeded
 */
export async function importAll(
  { client }: Service,
  body: Iterable<Buffer>,
  users: number,
  { pollMs = POLL_MS, onAccepted = () => {}, lastId = userId(users - 1) }: ImportOptions = {},
): Promise<Passed> {
  const start = performance.now();
  const { importId } = await client.upload(body);
  const acceptedMs = performance.now() - start;
  onAccepted();
  // A rejected request leaves nothing behind, so no user is written before the 202.
  const samples: Sample[] = [{ ms: acceptedMs, ended: 0 }];
  for (;;) {
    const newest = (await client.call('GET', '/admin/v1/imports?pageSize=1')).imports[0];
    if (newest.importId !== String(importId)) throw new Error(`Import ${importId} is no longer the newest.`);
    const { state, counts } = newest;
    samples.push({ ms: performance.now() - start, ended: counts.total - counts.pending });
    if (state === 'IMPORT_STATE_SUCCEEDED') break;
    if (state !== 'IMPORT_STATE_RUNNING') throw new Error(`The import ended as ${state}: ${JSON.stringify(counts)}`);
    await sleep(pollMs);
  }
  await client.call('GET', `/v2beta/users/${lastId}`);
  return { ms: performance.now() - start, acceptedMs, samples };
}
