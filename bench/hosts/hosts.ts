/**
 * `hosts`: users per second of an import whose workers run on other hosts, and whether its result is as exact as on one
 * machine.
 *
 * The hosts are network namespaces (network.ts). API and stores are on one host, the workers on two others, whose links
 * take a millisecond each way and lose a tenth of a percent of the packets. In the last round workers die and join at
 * random, from a seed. After each round the database is checked: each user once, with one event, and the counts agree.
 * Ceiling: the same workers on the host of the stores. It runs only where it is named, and needs root.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnv } from '../../src/platform/config.ts';
import { type Context, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { longestPause } from '../machine/growth.ts';
import { seeded } from '../random.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { startProxy } from '../testbed/proxy.ts';
import { redisVersion } from '../testbed/redis.ts';
import { type Stores, startService, startStores } from '../testbed/testbed.ts';
import { workerSettings } from '../testbed/workers-apart.ts';
import { type Link, STORE_ADDRESS, startHosts } from './network.ts';
import { type RoamingWorkers, startRoaming } from './roaming-workers.ts';

const DEFAULT_USERS = 20_000;
const WORKERS = 4;
const HOSTS = 2;
const LINK: Link = { delayMs: 1, loss: 0.1 };
const SEED = 1;
/** About as many workers die, at random points of the import; the first when its first users are written. */
const DEATHS = 10;
const LOOK_MS = 20;
/** Shorter than the defaults, as deaths are frequent here. */
const SETTINGS = { JOB_LOCK_MS: '3000', RESCUE_AFTER_MS: '3000' };

interface Round {
  name: string;
  /** Absent: the workers are on the host of the stores. */
  link?: Link;
  dying?: true;
}

const ROUNDS: readonly Round[] = [
  { name: 'hosts-near' },
  { name: 'hosts-linked', link: LINK },
  { name: 'hosts-dying', link: LINK, dying: true },
];

export async function hosts({ scope, say, users = DEFAULT_USERS }: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const results: Result[] = [];
  for (const round of ROUNDS) {
    const result = await scope.within((inner) => measure(inner, round, users, results[0]?.value));
    results.push(result);
    say(`${result.name}: ${result.value} users/s; ${result.notes.join('; ')}`);
  }
  return results;
}

async function measure(scope: Scope, round: Round, users: number, near: number | undefined): Promise<Result> {
  const { link, dying } = round;
  const namespaces = link ? await startHosts(scope, HOSTS, link) : [undefined];
  const stores = await startStores(scope, { redis: true });
  const direct = { databaseUrl: stores.databaseUrl, redisUrl: (stores.redis as { url: string }).url };
  const far = link ? await startProxy(scope, direct, 0, STORE_ADDRESS) : undefined;
  const service = await startService(scope, stores, 0, SETTINGS);
  const urls = far ? { DATABASE_URL: far.databaseUrl, REDIS_URL: far.redisUrl } : {};
  const env = childEnv({ ...workerSettings(stores), ...SETTINGS, ...urls }) as NodeJS.ProcessEnv;
  const workers = await startRoaming(scope, seeded(SEED), { hosts: namespaces, count: WORKERS, env });
  await proveReady(service, users);

  const body = [...importBody(users, service.orgId)];
  const churn = dying ? startChurn(workers, stores, users) : undefined;
  const { ms, samples } = await importAll(service, body, users).finally(() => churn?.stop());
  await requireExact(stores, users);
  const value = perSecond(users, ms);
  const { killed, stopped } = workers.deaths();
  const notes = [
    `${users} users, ${WORKERS} workers${link ? ` on ${HOSTS} hosts, ${2 * link.delayMs} ms a round trip, ${link.loss} % lost` : ''}`,
    ...(dying ? [`${killed} workers killed and ${stopped} stopped meanwhile`] : []),
    `each user exactly once; longest pause without progress ${Math.round(longestPause(samples))} ms`,
  ];
  const ceiling = near ?? value;
  const extras = { users, workers: WORKERS, link, killed, stopped, ms };
  return { name: round.name, value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function startChurn(workers: RoamingWorkers, { pool }: Stores, users: number): { stop(): Promise<void> } {
  const random = seeded(SEED + 1);
  let isStopped = false;
  const dying = (async () => {
    let next = 1;
    while (!isStopped) {
      const { rows } = await pool.query<{ written: number }>(WRITTEN);
      const written = rows[0]?.written ?? 0;
      if (written < next) {
        await sleep(LOOK_MS);
        continue;
      }
      await workers.replaceOne();
      next = written + random.exponential(users / DEATHS);
    }
    await workers.settled();
  })();
  return {
    stop() {
      isStopped = true;
      return dying;
    },
  };
}

const LAST = `(select id from imports where kind = 'bulk' order by id desc limit 1)`;
const WRITTEN = `select succeeded as written from imports where id = ${LAST}`;

/** @throws Error unless each user of the import was written once, with one event, and the counts agree */
async function requireExact({ pool }: Stores, users: number): Promise<void> {
  const { rows } = await pool.query<Record<string, number>>(
    `with last as (select ${LAST} as id)
     select (select count(*)::int from users where import_id = (select id from last)) as users,
       (select count(*)::int from import_items where import_id = (select id from last) and state = 'succeeded') as items,
       (select sum(succeeded)::int from import_orgs where import_id = (select id from last)) as counted,
       count(*)::int as events, count(distinct aggregate_id)::int as with_event
     from events where type = 'user.human.imported' and payload ->> 'importId' = (select id::text from last)`,
  );
  const wrong = Object.entries(rows[0] as Record<string, number>).filter(([, count]) => count !== users);
  if (wrong.length > 0)
    throw new Error(`The result is not exact: of ${users} users there are ${JSON.stringify(wrong)}.`);
}
