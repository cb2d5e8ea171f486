/**
 * `fair`: how long small imports take while a large one runs. They run one after the other, each from sending the
 * request until its last user can be read. The slowest counts.
 *
 * Ceiling: 2 s, within which a small import must be done, however many other users are waiting.
 *
 * `fair-passwords`: the time that such imports, of users with hashes, take together beside an import of plain passwords,
 * as a multiple of what they take before it. Ceiling: 1.5.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, percentile, type Result, rounded } from '../bench.ts';
import { user, userId } from '../testbed/load.ts';
import { DEFAULT_USERS, type Running, tooFew, whileRunning } from '../testbed/running.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { passwordsBody } from './passwords.ts';

const IMPORTS = 20;
/** Users of the running import for each small import, so that the running one does not end first. */
const USERS_PER_IMPORT = 10_000;
const SMALL = 10;
const CEILING_S = 2;
const POLL_MS = 10;
const PASSWORDS = { users: 20_000, ceiling: 1.5 };

export async function fair(context: Context): Promise<Result[]> {
  const { users = DEFAULT_USERS, say } = context;
  const imports = Math.min(IMPORTS, Math.ceil(users / USERS_PER_IMPORT));
  const { figures: seconds, loadPerSecond } = await whileRunning(context, users, async (running) => {
    say(`fair: ${imports} imports of ${SMALL} users`);
    const orgId = await anotherOrg(running);
    const times: number[] = [];
    for (let i = 0; i < imports; i++) times.push(await timedImport(running, orgId, users + i * SMALL));
    return times;
  });
  const value = Math.max(...seconds);
  const median = percentile(seconds, 0.5);
  const extras = { users, imports, median, seconds, loadPerSecond };
  const notes = [
    `the slowest of ${imports} imports of ${SMALL} users while ${users} are imported, median ${median} s; less is better`,
    `target: at most ${CEILING_S} s; meanwhile ${loadPerSecond} users/s of the large import`,
  ];
  const result = {
    name: 'fair',
    value,
    unit: 's',
    ceiling: CEILING_S,
    ratio: rounded(value / CEILING_S, 3),
    notes,
    extras,
  };
  return [result, await besidePasswords(context, Math.min(users, PASSWORDS.users))];
}

async function besidePasswords({ scope, say, workers }: Context, plain: number): Promise<Result> {
  const { alone, beside } = await scope.within(async (inner) => {
    const stores = await startStores(inner, { redis: true });
    const service = await startService(inner, stores, Math.max(1, workers));
    const orgId = await anotherOrg(service);
    const inAll = async (from: number) => {
      let seconds = 0;
      for (let i = 0; i < IMPORTS; i++) seconds += await timedImport(service, orgId, from + i * SMALL);
      return rounded(seconds, 3);
    };
    await timedImport(service, orgId, plain); // warms up
    const alone = await inAll(plain + SMALL);
    const { importId } = await service.client.upload([passwordsBody(plain, service.orgId)]);
    const written = () => service.client.call('GET', `/admin/v1/imports/${importId}`);
    while ((await written()).counts.succeeded === 0) await sleep(POLL_MS);
    say(`fair: ${IMPORTS} imports of ${SMALL} users beside ${plain} plain passwords`);
    const beside = await inAll(plain + SMALL + IMPORTS * SMALL);
    if ((await written()).state !== 'IMPORT_STATE_RUNNING') throw tooFew(plain);
    return { alone, beside };
  });
  const value = rounded(beside / alone, 3);
  const { ceiling } = PASSWORDS;
  const notes = [
    `${IMPORTS} imports of ${SMALL} users with hashes: ${beside} s beside ${plain} plain passwords, ${alone} s before them; less is better`,
    `target: at most ${ceiling} times as long`,
  ];
  const extras = { users: plain, imports: IMPORTS, alone, beside };
  return { name: 'fair-passwords', value, unit: 'x', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

async function anotherOrg({ client }: Pick<Running, 'client'>): Promise<string> {
  const { id } = await client.call('POST', '/management/v1/orgs', { name: 'Bench neighbour' });
  return id as string;
}

/** Seconds for an import of the ten users that begin with `first`. */
async function timedImport({ client }: Pick<Running, 'client'>, orgId: string, first: number): Promise<number> {
  const body = smallBody(orgId, first);
  const start = performance.now();
  const { importId } = await client.upload([body]);
  for (;;) {
    const { state, counts } = await client.call('GET', `/admin/v1/imports/${importId}`);
    if (state === 'IMPORT_STATE_SUCCEEDED') break;
    if (state !== 'IMPORT_STATE_RUNNING')
      throw new Error(`The small import ended as ${state}: ${JSON.stringify(counts)}`);
    await sleep(POLL_MS);
  }
  await client.call('GET', `/v2beta/users/${userId(first + SMALL - 1)}`);
  return rounded((performance.now() - start) / 1000, 3);
}

/** The body of an import of the ten users that begin with `first`. */
export function smallBody(orgId: string, first: number): Buffer {
  const humanUsers = Array.from({ length: SMALL }, (_, i) => ({ userId: userId(first + i), user: user(first + i) }));
  return Buffer.from(JSON.stringify({ timeout: '10m0s', dataOrgs: { orgs: [{ orgId, humanUsers }] } }));
}
