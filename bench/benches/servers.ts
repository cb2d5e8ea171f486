/**
 * `servers`: users per second of a bulk import on the PostgreSQL of the machine's distribution with its default
 * settings, from sending it until its last user can be read.
 *
 * Ceiling: the same on the embedded PostgreSQL. Rounds on the two alternate, each on new stores, with Redis as the
 * queue; both use TCP. The ratio is the median of the ratios of neighbouring rounds, because rates drift on a shared
 * machine.
 */
import { type Context, counted, percentile, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { cpuPerUnit, cpuTime, hasProc } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { distributionPrograms, redisVersion } from '../testbed/stores.ts';
import { type Stores, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 60_000;
const PAIRS = 4;
const TARGET = 0.9;

type Server = 'distribution' | 'embedded';

interface Drained {
  perSecond: number;
  /** Microseconds of PostgreSQL's processor time per user. */
  postgresCpu?: number;
}

type Pair = Record<Server, Drained>;

export async function servers(context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const programs = await distributionPrograms();
  if (!programs) throw new Skipped('the PostgreSQL of the distribution is not on this machine');
  const { scope, say, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const wanted = users < DEFAULT_USERS ? 1 : PAIRS;
  const pairs: Pair[] = [];
  let about: Stores['server'];
  for (let n = 0; n < wanted; n++) {
    const pair: Partial<Pair> = {};
    // The order alternates from pair to pair.
    const order: Server[] = n % 2 === 0 ? ['distribution', 'embedded'] : ['embedded', 'distribution'];
    for (const server of order) {
      await scope.within(async (inner) => {
        const stores = await startStores(inner, {
          redis: true,
          ...(server === 'distribution' ? { programs } : { tcp: true }),
        });
        pair[server] = await drainOnce(inner, stores, users, workers);
        if (server === 'distribution') about = stores.server;
      });
    }
    pairs.push(pair as Pair);
    say(`servers: pair ${n + 1} of ${wanted}, ${told(pair.distribution)}; embedded ${told(pair.embedded)}`);
  }
  return [resultOf(pairs, { users, workers, about })];
}

async function drainOnce(scope: Scope, stores: Stores, users: number, workers: number): Promise<Drained> {
  const service = await startService(scope, stores, workers);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const { postgres = [] } = stores.roles();
  const before = hasProc() ? cpuTime({ postgres }) : undefined;
  const { ms } = await importAll(service, body, users);
  const cpu = before && cpuPerUnit(before, cpuTime({ postgres }), users).postgres;
  return { perSecond: perSecond(users, ms), ...(cpu === undefined ? {} : { postgresCpu: cpu }) };
}

function told(drained: Drained | undefined): string {
  const cpu = drained?.postgresCpu === undefined ? '' : `, PostgreSQL ${Math.round(drained.postgresCpu)} µs per user`;
  return `${drained?.perSecond} users/s${cpu}`;
}

function resultOf(pairs: Pair[], of: { users: number; workers: number; about: Stores['server'] }): Result {
  const { users, workers, about } = of;
  const ratios = pairs.map(({ distribution, embedded }) => rounded(distribution.perSecond / embedded.perSecond, 3));
  const [value, ceiling] = (['distribution', 'embedded'] as const).map((server) =>
    percentile(
      pairs.map((pair) => pair[server].perSecond),
      0.5,
    ),
  ) as [number, number];
  const pairRatio = percentile(ratios, 0.5);
  const cpu = pairs.map(({ distribution: a, embedded: b }) => `${round(a.postgresCpu)}/${round(b.postgresCpu)}`);
  const notes = [
    `PostgreSQL ${about?.version} with default settings, ${users} users, ${counted(workers, 'worker', 'workers')}`,
    `ceiling: the embedded PostgreSQL; ratios of the pairs ${ratios.join(', ')}, median ${pairRatio}; target: ${TARGET}`,
    ...(hasProc() ? [`PostgreSQL's CPU µs per user, distribution/embedded: ${cpu.join(', ')}`] : []),
  ];
  const { version, settings } = about ?? {};
  const extras = { users, workers, target: TARGET, pairRatio, pairs, version, settings };
  return { name: 'servers', value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function round(us: number | undefined): number {
  return Math.round(us ?? 0);
}
