/**
 * `flat`, `flat-distribution`: whether an import of ten million users is as fast at its end as at its start, with a
 * picture of the rate, the checkpoints, the disk and the memory over its time. Redis is the queue. `flat` uses the
 * embedded PostgreSQL, `flat-distribution` the one of the machine's distribution with its default settings.
 *
 * The body is generated while it is sent. Checkpoints are those that ended in PostgreSQL (pg_stat_checkpointer, before
 * version 17 pg_stat_bgwriter), the disk is that of the database without its log. The picture is an SVG, the key
 * `picture` of the JSON line.
 * Ceiling: the users per second of the first tenth.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, counted, percentile, type Result, rounded, Skipped } from '../bench.ts';
import { hasProc, memoryNow, type Roles } from '../machine/cpu.ts';
import { importAll, proveReady, type Sample, tenthRates } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { distributionPrograms, redisVersion } from '../testbed/stores.ts';
import { type Stores, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 10_000_000;
/** Tenths of fewer users are meaningless. */
const LEAST_USERS = 100;
const TARGET = 0.95;
/** Ten million users are 3 GB, more than an import may have by default. */
const MAX_BYTES = 16 * 2 ** 30;
const POLL_MS = 500;
/** Reading the size of a database takes some milliseconds. */
const LOOK_MS = 1000;

/** What is looked at beside the progress. */
interface Look {
  ms: number;
  checkpoints: number;
  /** Megabytes of the database's files, without the log. */
  disk: number;
  /** Megabytes of the log that were written since the start. */
  log: number;
  /** Megabytes of the largest process of each role. */
  memory: Record<string, number>;
}

export async function flat(server: 'embedded' | 'distribution', context: Context): Promise<Result[]> {
  const { scope, say } = context;
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc, from which the memory of processes is read');
  const programs = server === 'distribution' ? await distributionPrograms() : undefined;
  if (server === 'distribution' && !programs)
    throw new Skipped('the PostgreSQL of the distribution is not on this machine');
  const users = Math.max(LEAST_USERS, context.users ?? DEFAULT_USERS);
  const workers = Math.max(1, context.workers);
  const stores = await startStores(scope, { redis: true, ...(programs ? { programs } : {}) });
  const service = await startService(scope, stores, workers, { MAX_IMPORT_BYTES: String(MAX_BYTES) });
  await proveReady(service, users);
  say(`flat: an import of ${users} users`);
  let isOver = false;
  const importing = importAll(service, importBody(users, service.orgId), users, { pollMs: POLL_MS });
  const [{ ms, acceptedMs, samples }, looks] = await Promise.all([
    importing.finally(() => {
      isOver = true;
    }),
    watch(stores, { ...service.roles(), ...stores.roles() }, () => isOver),
  ]);

  const tenths = tenthRates(samples, users).map(Math.round);
  const [ceiling, value] = [tenths[0], tenths.at(-1)] as [number, number];
  const name = server === 'embedded' ? 'flat' : 'flat-distribution';
  const picture = drawn(`${users.toLocaleString('en')} users, ${server} PostgreSQL`, samples, looks);
  const last = looks.at(-1) as Look;
  const most = (role: string) => Math.max(...looks.map(({ memory }) => memory[role] ?? 0));
  const notes = [
    `the last tenth of ${users} users, ${counted(workers, 'worker', 'workers')}; ceiling: the first tenth; target: a ratio of at least ${TARGET}`,
    `tenths: ${tenths.join(', ')} users/s; ${Math.round(ms / 1000)} s in all, accepted after ${Math.round(acceptedMs / 1000)} s`,
    `${Math.round((last.disk * 1e6) / users)} bytes of the database and ${Math.round((last.log * 1e6) / users)} of the log a user; ${counted(last.checkpoints, 'checkpoint', 'checkpoints')}`,
    `most memory: API ${most('api')} MB, worker ${most('worker')} MB, Redis ${most('redis')} MB`,
  ];
  const extras = {
    users,
    workers,
    target: TARGET,
    seconds: rounded(ms / 1000, 1),
    usersPerSecondByTenth: tenths,
    looks,
    picture,
  };
  return [{ name, value, unit: 'users/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras }];
}

/** Looks at the stores and the processes until `isOver`, and once more then. Times are from now on. */
async function watch({ pool }: Stores, roles: Roles, isOver: () => boolean): Promise<Look[]> {
  const start = performance.now();
  const first = await figuresOf(pool);
  const { postgres: _, ...single } = roles; // PostgreSQL is many processes, which share memory
  const looks: Look[] = [];
  for (let over = false; !over; ) {
    over = isOver();
    const ms = Math.round(performance.now() - start);
    const { checkpoints, disk, log } = await figuresOf(pool);
    looks.push({
      ms,
      checkpoints: checkpoints - first.checkpoints,
      disk: megabytes(disk - first.disk),
      log: megabytes(log - first.log),
      memory: Object.fromEntries(
        Object.entries(single).map(([role, pids]) => [role, megabytes(Math.max(...pids.map(memoryNow)))]),
      ),
    });
    if (!over) await sleep(LOOK_MS);
  }
  return looks;
}

function megabytes(bytes: number): number {
  return rounded(bytes / 1e6, 1);
}

type Figures = Record<'checkpoints' | 'disk' | 'log', number>;

async function figuresOf(pool: Stores['pool']): Promise<Figures> {
  const { rows } = await pool.query<{ isNew: boolean }>(
    `select to_regclass('pg_catalog.pg_stat_checkpointer') is not null as "isNew"`,
  );
  const checkpoints = rows[0]?.isNew
    ? 'select num_timed + num_requested from pg_stat_checkpointer'
    : 'select checkpoints_timed + checkpoints_req from pg_stat_bgwriter';
  const read = await pool.query<Figures>(
    `select (${checkpoints})::float8 as checkpoints, pg_database_size(current_database())::float8 as disk,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as log`,
  );
  return read.rows[0] as Figures;
}

const WIDTH = 720;
const LEFT = 70;
const RIGHT = 700;
const PANEL = 150;
const COLORS = ['#3b82c4', '#2f9e62', '#c2703d'];

/** @returns an SVG with a panel for the rate, the disk and the memory; a checkpoint is a line through all */
function drawn(title: string, samples: Sample[], looks: Look[]): string {
  const seconds = Math.max(samples.at(-1)?.ms ?? 0, looks.at(-1)?.ms ?? 0) / 1000;
  const x = (ms: number) => rounded(LEFT + ((RIGHT - LEFT) * ms) / 1000 / seconds, 1);
  const rates = rateOf(samples);
  const lines = (pick: (look: Look) => number) => looks.map((look): [number, number] => [look.ms, pick(look)]);
  const roles = Object.keys(looks[0]?.memory ?? {});
  const panels: { what: string; curves: [string, [number, number][]][] }[] = [
    { what: 'users a second', curves: [['', rates]] },
    {
      what: 'MB',
      curves: [
        ['database', lines((look) => look.disk)],
        ['log written', lines((look) => look.log)],
      ],
    },
    { what: 'MB of memory', curves: roles.map((role) => [role, lines((look) => look.memory[role] ?? 0)]) },
  ];
  const height = 40 + panels.length * (PANEL + 40);
  const parts = panels.flatMap(({ what, curves }, n) => {
    const top = 50 + n * (PANEL + 40);
    const most = Math.max(1, ...curves.flatMap(([, points]) => points.map(([, value]) => value)));
    const y = (value: number) => rounded(top + PANEL - (PANEL * value) / most, 1);
    const grid = [0, 0.5, 1].map(
      (part) =>
        `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${y(most * part)}" y2="${y(most * part)}"/>
<text x="${LEFT - 8}" y="${y(most * part) + 4}" text-anchor="end">${Math.round(most * part).toLocaleString('en')}</text>`,
    );
    const drawnCurves = curves.map(([label, points], i) => {
      const path = points.map(([ms, value]) => `${x(ms)},${y(value)}`).join(' ');
      const text = `<text x="${LEFT + 10 + i * 170}" y="${top - 6}" style="fill:${COLORS[i]}">${label || what}${label ? ` (${what})` : ''}</text>`;
      return `<polyline class="curve" stroke="${COLORS[i]}" points="${path}"/>${text}`;
    });
    return [...grid, ...drawnCurves];
  });
  const checkpoints = looks
    .filter((look, i) => look.checkpoints > (looks[i - 1]?.checkpoints ?? 0))
    .map(({ ms }) => `<line class="checkpoint" x1="${x(ms)}" x2="${x(ms)}" y1="50" y2="${height - 40}"/>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">
<style>text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 15px; font-weight: 600 }
.page { fill: #ffffff } .grid { stroke: #d0d7de } .curve { fill: none; stroke-width: 1.5 }
.checkpoint { stroke: #8250df; stroke-dasharray: 3 3; opacity: 0.5 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } }</style>
<rect class="page" width="${WIDTH}" height="${height}"/>
<text class="title" x="${LEFT}" y="26">${title}</text>
${[...parts, ...checkpoints].join('\n')}
<text x="${(LEFT + RIGHT) / 2}" y="${height - 12}" text-anchor="middle">${Math.round(seconds)} seconds; dashed lines: checkpoints</text>
</svg>
`;
}

/** Users per second around each sample: the median of the nearest ones, as batches come in bursts. */
function rateOf(samples: Sample[]): [number, number][] {
  const rates = samples.slice(1).map(({ ms, ended }, i): [number, number] => {
    const before = samples[i] as Sample;
    return [ms, ((ended - before.ended) / Math.max(1, ms - before.ms)) * 1000];
  });
  return rates.map(([ms], i) => [
    ms,
    percentile(
      rates.slice(Math.max(0, i - 3), i + 4).map(([, rate]) => rate),
      0.5,
    ),
  ]);
}
