/**
 * `wrong-passwords`: how far the answers to wrong passwords of different users are apart, from sending the request to
 * the response. A caller who could tell them apart would know which users exist, and who was imported with which hash.
 *
 * Kinds take turns, on an otherwise idle service, each person once. The value is the largest difference between the
 * medians of two kinds; the ceiling is the median of unknown users, so the ratio is the share that differs.
 */
import { type Context, percentile, type Result, rounded, timed } from '../bench.ts';
import { importAll } from '../testbed/import-all.ts';
import { importBody, user, userId } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const ATTEMPTS = 40;
const WARM_UP = 3;
const SETTINGS = { RATE_LIMIT_REQUESTS: '1000000', RATE_LIMIT_LOGINS: '1000000' };

/** What the users of each kind have instead of the hash of `user`; unknown users are not imported. */
const KINDS: Record<string, ((n: number) => object) | undefined> = {
  unknown: undefined,
  'bcrypt 10': (n) => user(n),
  'bcrypt 12': (n) => withHash(n, user(n).hashedPassword.value.replace('$10$', '$12$')),
  'SHA-256': (n) => withHash(n, `{SHA256}${Buffer.alloc(32, n).toString('base64')}`),
  'no password': (n) => withHash(n, undefined),
};
const NAMES = Object.keys(KINDS);

export async function wrongPasswords({ scope, users, workers, say }: Context): Promise<Result[]> {
  const attempts = Math.min(ATTEMPTS, users ?? ATTEMPTS);
  const each = WARM_UP + attempts;
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const service = await startService(scope, stores, Math.max(1, workers), SETTINGS);
  const people = NAMES.length * each;
  await importAll(service, importBody(people, service.orgId, entry), people);
  say(`wrong-passwords: ${attempts} attempts for each of ${NAMES.length} kinds of users, one after the other`);
  const times = new Map(NAMES.map((name) => [name, [] as number[]]));
  for (let n = 0; n < people; n++) {
    const ms = await timed(() => attempt(service.client, n));
    if (n >= WARM_UP * NAMES.length) times.get(kindOf(n))?.push(ms);
  }
  return [resultOf(times, attempts)];
}

const kindOf = (n: number) => NAMES[n % NAMES.length] as string;

/** Unknown users have another id than the one that is asked for. */
function entry(n: number): object {
  return { userId: userId(n), user: (KINDS[kindOf(n)] ?? user)(n) };
}

function withHash(n: number, value: string | undefined): object {
  const { hashedPassword: _, ...rest } = user(n);
  return value === undefined ? rest : { ...rest, hashedPassword: { value } };
}

interface Caller {
  call(method: string, path: string, body: unknown, orgId: undefined, status: number): Promise<unknown>;
}

function attempt(client: Caller, n: number): Promise<unknown> {
  const id = kindOf(n) === 'unknown' ? `${userId(n)}0` : userId(n);
  const checks = { user: { userId: id }, password: { password: 'wrong' } };
  return client.call('POST', '/v2beta/sessions', { checks }, undefined, 400);
}

function resultOf(times: Map<string, number[]>, attempts: number): Result {
  const at = (name: string, p: number) => rounded(percentile(times.get(name) as number[], p), 1);
  const medians = NAMES.map((name) => at(name, 0.5));
  const value = rounded(Math.max(...medians) - Math.min(...medians), 1);
  const ceiling = at('unknown', 0.5);
  const kinds = NAMES.map((name) => `${name} ${at(name, 0.5)} (${at(name, 0.01)} to ${at(name, 0.99)})`);
  const notes = [
    `${attempts} wrong passwords of each kind; p50 (p1 to p99) in ms: ${kinds.join(', ')}`,
    'ceiling: p50 of unknown users; less is better',
  ];
  const extras = { attempts, p50: Object.fromEntries(NAMES.map((name) => [name, at(name, 0.5)])) };
  return { name: 'wrong-passwords', value, unit: 'ms', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}
