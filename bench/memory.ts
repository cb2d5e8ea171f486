/**
 * `memory`: the most memory that the API process has at once while it takes an upload, small and ten times as large.
 *
 * The body is made while it is sent, so nobody holds it. Each size has an API process of its own, and no worker runs.
 * Ceiling: the 300 MB that an API process may take, whatever the size of the upload.
 */
import { type Context, type Result, rounded, Skipped } from './bench.ts';
import { hasProc, peakMemory } from './cpu.ts';
import { importBody } from './load.ts';
import { type Stores, startService, startStores } from './stand.ts';

const DEFAULT_USERS = 1_000_000;
const CEILING_MB = 300;
const MB = 1e6;

interface Peak {
  users: number;
  megabytes: number;
  /** Before the upload. */
  idleMegabytes: number;
}

export async function memory(context: Context): Promise<Result[]> {
  if (!hasProc()) throw new Skipped('this system has no /proc to read the memory of a process from');
  const most = context.users ?? DEFAULT_USERS;
  const stores = await startStores(context.scope, { redis: false });
  const small = await peakOf(context, stores, Math.max(1, Math.round(most / 10)));
  const large = await peakOf(context, stores, most);
  const relativeDifference = rounded((large.megabytes - small.megabytes) / small.megabytes, 3);
  const percent = rounded(relativeDifference * 100, 1);
  return [
    resultOf(small, {}, ''),
    resultOf(large, { relativeDifference }, `; ${percent < 0 ? '' : '+'}${percent} % from ${small.users} users`),
  ];
}

function peakOf({ scope, say }: Context, stores: Stores, users: number): Promise<Peak> {
  return scope.within(async (inner) => {
    say(`memory: an upload of ${users} users`);
    const { client, orgId, apiPid } = await startService(inner, stores, 0);
    const idleMegabytes = rounded(peakMemory(apiPid) / MB, 1);
    await client.upload(importBody(users, orgId));
    return { users, idleMegabytes, megabytes: rounded(peakMemory(apiPid) / MB, 1) };
  });
}

function resultOf({ users, megabytes, idleMegabytes }: Peak, extras: Record<string, unknown>, remark: string): Result {
  return {
    name: `memory-${users}`,
    value: megabytes,
    unit: 'MB',
    ceiling: CEILING_MB,
    ratio: rounded(megabytes / CEILING_MB, 3),
    notes: [`peak of the API over an upload of ${users} users; idle ${idleMegabytes} MB${remark}`],
    extras: { users, idleMegabytes, ...extras },
  };
}
