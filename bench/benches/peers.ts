/**
 * `peers-…`: users per second of moving users with their hashes into Muster, and into another service on the same
 * machine, one right after the other.
 *
 * Muster has one API and one worker process, its queue on Redis and its users on the embedded PostgreSQL over TCP; a
 * peer that needs PostgreSQL has the same server, newly made. Each peer has the settings of its quick start, and takes
 * the users in the way that its documentation has for many of them (../peers/). Both start with one user, so that
 * everything is connected. Afterwards the users and hashes in the store of each are counted, and one user signs in with
 * the old password, where the peer can verify bcrypt.
 * Ceiling: the rate of the peer, so the ratio says how many times faster Muster is; more is better.
 */
import { type Context, counted, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { betterAuth } from '../peers/better-auth.ts';
import { keycloak } from '../peers/keycloak.ts';
import { kratos } from '../peers/kratos.ts';
import { openldap } from '../peers/openldap.ts';
import { expectCount, type Moved, type Peer } from '../peers/peer.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody, passwordOf, userId } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 20_000;
const TARGET = 5;

export const PEERS: Record<string, Peer> = {
  'peers-better-auth': betterAuth,
  'peers-openldap': openldap,
  'peers-keycloak': keycloak,
  'peers-kratos': kratos,
};

/** @param name of `PEERS` */
export async function peers(name: string, context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const peer = PEERS[name] as Peer;
  const { scope, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const say = (line: string) => context.say(`${name}: ${line}`);
  const there = await scope.within((inner) => peer.move(inner, { users, say }));
  say(`${perSecond(users, there.ms)} users/s`);
  const ms = await scope.within((inner) => moveIntoMuster(inner, users, workers));
  say(`Muster, ${perSecond(users, ms)} users/s`);
  return [resultOf(name, peer, there, { ms, users, workers })];
}

/** @returns milliseconds from the request until the last user can be read */
async function moveIntoMuster(scope: Scope, users: number, workers: number): Promise<number> {
  const stores = await startStores(scope, { redis: true, tcp: true });
  const service = await startService(scope, stores, workers);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const { ms } = await importAll(service, body, users);
  const { rows } = await stores.pool.query<{ users: number }>(
    'select count(*)::int as users from users where org_id = $1 and password_hash is not null',
    [service.orgId],
  );
  expectCount('users with hashes', rows[0]?.users, users + 1);
  const checks = { user: { userId: userId(users - 1) }, password: { password: passwordOf(users - 1) } };
  await service.client.call('POST', '/v2beta/sessions', { checks }, undefined, 201);
  return ms;
}

interface Ours {
  ms: number;
  users: number;
  workers: number;
}

function resultOf(name: string, { how }: Peer, there: Moved, { ms, users, workers }: Ours): Result {
  const [value, ceiling] = [perSecond(users, ms), perSecond(users, there.ms)];
  const { product, signsIn } = there;
  const notes = [
    `${users} users, ${counted(workers, 'worker', 'workers')}; ceiling: ${product}, ${how}; target: a ratio of at least ${TARGET}`,
    signsIn ? 'an old password signs in at both' : 'an old password signs in at Muster only',
  ];
  const extras = { users, workers, target: TARGET, product, how, signsIn, ms, peerMs: there.ms };
  return { name, value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}
