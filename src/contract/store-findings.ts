/**
 * Findings about PostgreSQL, the queue and Redis, by what the service reports or what a check from this machine finds.
 * Each finding about a setting was measured or follows from the setting.
 */
import { connectionsOf } from '../platform/db/connections.ts';
import type { PostgresFacts, QueueFacts, ServerFacts, TimeLimit } from './diagnostics.ts';
import { adviceForSilent, type Finding, many, ok, problem, size, skipped, warning } from './finding.ts';

const OLDEST_POSTGRES = 15;

const LEAST_SENTINELS = 3;

/**
 * In seconds. One COPY of an upload takes up to 10; building an index in a migration or comparing the users of a large
 * body takes longer. A pool closes connections that were idle for 5; a server with a shorter limit would end one that
 * is about to be used.
 */
const LEAST_SECONDS: Record<TimeLimit, number> = {
  statement_timeout: 30,
  transaction_timeout: 60,
  idle_session_timeout: 15,
};

/** PostgreSQL's default. */
const LEAST_BUFFERS = 128 * 2 ** 20;

/** PostgreSQL's default. The count of requested checkpoints says less: backups and CREATE DATABASE request them too. */
const LEAST_WAL = 2 ** 30;

/** What nobody does without the role. */
const UNDONE = {
  rescue: 'nothing restarts a stuck import, ends one at its deadline, or undoes one',
  maintenance: 'expired data is not removed',
  webhooks: 'no webhook is sent',
  convert: 'uploaded files are not converted, so drafts of imports wait',
};

type RedisFacts = NonNullable<QueueFacts['redis']>;
type Role = NonNullable<QueueFacts['redisNodes']>[number]['role'];

export interface CheckedNode {
  role: Role;
  /** Names it among the others: `master 2`, or its address. */
  label: string;
  answers: boolean;
  facts?: RedisFacts | undefined;
  /** Why it does not answer, if that is known. */
  reason?: string;
}

/** Findings about PostgreSQL itself. */
export function checkPostgres(facts: PostgresFacts): Finding[] {
  const { version, connections, databaseBytes } = facts;
  const used = `${connections.used} of ${connections.max} connections`;
  const own = [tooOld(facts), migrated(facts), durable(facts), roomy(facts)].filter((f) => f !== undefined);
  const found = [...own, ...checkServer(facts.server)];
  if (found.length > 0) return found;
  return [ok('postgresql', `version ${version}, ${used} in use, ${size(databaseBytes)}`)];
}

function tooOld({ version }: PostgresFacts): Finding | undefined {
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return undefined;
  return problem('postgresql', `version ${version} is too old`, `Use PostgreSQL ${OLDEST_POSTGRES} or newer.`);
}

function migrated({ migrations: { applied, known } }: PostgresFacts): Finding | undefined {
  if (applied === known) return undefined;
  if (applied > known) {
    const message = `the database is at migration ${applied}, but this program knows only ${known}`;
    return problem('migrations', message, 'An older program runs on a newer database: start the newer program.');
  }
  const message = `${many(known - applied, 'migration')} of ${known} are not applied`;
  return problem('migrations', message, 'Start the service: it applies them. Stop older processes first.');
}

function durable({ settings }: PostgresFacts): Finding | undefined {
  const bad = [
    ...(settings.fsync ? [] : ['fsync=off']),
    ...(settings.fullPageWrites ? [] : ['full_page_writes=off']),
    ...(settings.synchronousCommit === 'off' ? ['synchronous_commit=off'] : []),
  ];
  if (bad.length === 0) return undefined;
  const message = `${bad.join(', ')}: accepted data may be lost when the machine crashes`;
  return warning('postgresql', message, 'Set them back to `on`, unless you can afford to lose all data.');
}

function roomy({ connections: { used, max } }: PostgresFacts): Finding | undefined {
  const further = connectionsOf('worker', 'postgres');
  if (max - used >= further) return undefined;
  const message = `${used} of ${max} connections are in use; another worker may need ${further}`;
  return warning('postgresql', message, 'Raise max_connections, or run fewer processes.');
}

/** Findings about the settings of the server. @param server absent when the service is older than this command */
export function checkServer(server: ServerFacts | undefined): Finding[] {
  if (!server) return [];
  return [encoded, pooled, overridden, timed, vacuumed, buffered, walled]
    .map((judge) => judge(server))
    .filter((finding) => finding !== undefined);
}

function encoded({ encoding }: ServerFacts): Finding | undefined {
  if (encoding === 'UTF8') return undefined;
  const message = `the encoding of the database is ${encoding}: names with letters outside of it cannot be stored`;
  return problem(
    'postgresql',
    message,
    `Create a database for Muster with "create database … encoding 'UTF8' template template0".`,
  );
}

function pooled({ sharesSessions }: ServerFacts): Finding | undefined {
  if (!sharesSessions) return undefined;
  const message =
    'a connection pooler shares sessions between clients: the settings that Muster makes in them are lost';
  const advice =
    'Set DATABASE_DIRECT_URL to the address of PostgreSQL itself, beside the DATABASE_URL that leads to the pooler; or set pool_mode = session (PgBouncer).';
  return problem('postgresql', message, advice);
}

/** With jit=on a batch of 200 users took 5 s instead of 10 ms (docs/performance.md). */
function overridden({ overridden: settings, sharesSessions }: ServerFacts): Finding | undefined {
  if (settings.length === 0 || sharesSessions) return undefined;
  const message = `${settings.join(', ')}: overrides settings of Muster's sessions; imports may be many times slower`;
  return warning('postgresql', message, 'Remove these settings from the options of DATABASE_URL and from PGOPTIONS.');
}

function timed({ timeouts }: ServerFacts): Finding | undefined {
  const short = (Object.keys(LEAST_SECONDS) as TimeLimit[]).filter(
    (name) => timeouts[name] > 0 && timeouts[name] < LEAST_SECONDS[name] * 1000,
  );
  if (short.length === 0) return undefined;
  const said = short.map((name) => `${name} is ${timeouts[name]} ms`).join(', ');
  const reset = short.map((name) => `alter role … set ${name} = 0`).join('; ');
  return warning(
    'postgresql',
    `${said}: uploads and other long work are cut off`,
    `Run for the role of DATABASE_URL: ${reset}.`,
  );
}

function vacuumed({ autovacuum }: ServerFacts): Finding | undefined {
  if (autovacuum) return undefined;
  const message = 'autovacuum (or track_counts) is off: tables and indexes grow with each import and each job';
  return warning('postgresql', message, 'Set autovacuum = on and track_counts = on.');
}

function buffered({ sharedBuffersBytes: bytes }: ServerFacts): Finding | undefined {
  if (bytes >= LEAST_BUFFERS) return undefined;
  const message = `shared_buffers is ${size(bytes)}: pages of a large import are written and reread many times`;
  return warning('postgresql', message, "Set it to a quarter of the machine's memory, and restart PostgreSQL.");
}

function walled({ maxWalBytes: bytes }: ServerFacts): Finding | undefined {
  if (bytes >= LEAST_WAL) return undefined;
  const message = `max_wal_size is ${size(bytes)}: a large import causes many checkpoints and full-page writes`;
  return warning('postgresql', message, 'Set max_wal_size = 4GB, and reload PostgreSQL.');
}

/**
 * Whether the pools of all processes fit into `max_connections`.
 * @param workers number of worker processes, as far as known
 */
export function checkConnections(
  { max }: PostgresFacts['connections'],
  { backend, workers }: { backend: 'redis' | 'postgres'; workers: number },
): Finding[] {
  const wanted = connectionsOf('api', backend) + workers * connectionsOf('worker', backend);
  if (wanted <= max) return [];
  const message = `an API and ${many(workers, 'worker')} may open ${wanted} connections, but only ${max} are allowed`;
  return [
    warning(
      'postgresql',
      message,
      `Set max_connections = ${Math.ceil(wanted / 50) * 50 + 50}, or run fewer processes.`,
    ),
  ];
}

/** Findings about the queue, its store and its workers. */
export function checkQueue(facts: QueueFacts): Finding[] {
  const where = facts.backend === 'redis' ? 'Redis' : 'PostgreSQL';
  if (facts.missingRights?.length) return [lacksRights(facts.missingRights)];
  if (!facts.answers) {
    const advice = 'Imports wait and resume once it is back. Check that it is running and that REDIS_URL is right.';
    return [problem('queue', `${where}, which holds the jobs, does not answer`, advice)];
  }
  const jobs = facts.jobs && `${facts.jobs.imports} import and ${facts.jobs.mails} mail jobs waiting or running`;
  return [...checkHeld(facts, where), ...checkWorkers(facts, jobs ?? '')];
}

/** The queue then works in part or not at all, so the other findings would mislead. */
export function lacksRights(missing: readonly string[]): Finding {
  const message = `the user of REDIS_URL lacks rights in Redis: ${missing.join(', ')}`;
  return problem('redis', message, 'Grant them (ACL SETUSER): docs/operations.md, "Rights in Redis", lists all.');
}

function checkHeld({ redis, redisNodes }: QueueFacts, where: string): Finding[] {
  if (redisNodes) return checkNodes(redisNodes.map((node, i) => ({ ...node, label: `${node.role} ${i + 1}` })));
  return redis ? checkRedis(redis) : [ok('queue', `jobs are in ${where}`)];
}

function checkWorkers({ workers, roles, dispatching }: QueueFacts, jobs: string): Finding[] {
  if (!workers) return [skipped('workers', 'the queue does not report its workers')];
  const start = 'Start a worker: npm run worker';
  const found = [
    ...(workers.imports > 0 ? [] : [problem('workers', `no worker writes imported users; ${jobs}`, start)]),
    ...(workers.mails > 0
      ? []
      : [problem('workers', `no worker sends mails; ${jobs}`, `${start} (with the role mail)`)]),
    ...(dispatching
      ? []
      : [problem('workers', 'no worker dispatches the users of imports', `${start}, with the role dispatch`)]),
  ];
  const missing = checkRoles(roles);
  if (found.length + missing.length > 0) return [...found, ...missing];
  return [ok('workers', `${workers.imports} for imports, ${workers.mails} for mails; ${jobs}`)];
}

/** @param roles absent when the service is older than this command; without any worker, the other findings say so */
function checkRoles(roles: QueueFacts['roles'] | undefined): Finding[] {
  if (!roles || Object.values(roles).every((n) => n === 0)) return [];
  return (Object.keys(UNDONE) as (keyof typeof UNDONE)[])
    .filter((role) => roles[role] === 0)
    .map((role) => {
      const advice = `Add the role to WORKER_ROLES of a worker; \`muster workers\` lists those that run.`;
      return warning('workers', `no worker has the role ${role}: ${UNDONE[role]}`, advice);
    });
}

/** Findings about each server behind the queue, and about what is missing for a failover. */
export function checkNodes(nodes: CheckedNode[]): Finding[] {
  const own = nodes.flatMap(({ facts, label, answers, role, reason }) => {
    if (!answers) return [silent(label, role, reason)];
    return facts ? checkRedis(facts, label) : [];
  });
  return [...own, ...checkGroup(nodes)];
}

function checkGroup(nodes: CheckedNode[]): Finding[] {
  const count = (role: Role) => nodes.filter((node) => node.role === role).length;
  const sentinels = count('sentinel');
  if (sentinels === 0) return [];
  const found: Finding[] = [];
  if (count('replica') === 0) {
    found.push(warning('redis', 'the master has no replica, so that nothing can replace it', 'Add a replica.'));
  }
  if (sentinels < LEAST_SENTINELS) {
    const message = `REDIS_URL names ${many(sentinels, 'Sentinel')}; a failover needs a majority of at least three`;
    found.push(warning('redis', message, 'Run three Sentinels on three machines, and name all of them.'));
  }
  return found;
}

function silent(label: string, role: Role, reason?: string): Finding {
  const message = `${label} does not answer${reason ? ` (${reason})` : ''}`;
  const advice = adviceForSilent('REDIS_URL', reason);
  if (role === 'master') return problem('redis', message, advice);
  return warning('redis', message, `${advice} Without it, a failover may not be possible.`);
}

/** Findings about one Redis. @param label names the server where there are several */
export function checkRedis(facts: RedisFacts, label?: string): Finding[] {
  const subject = label ? `${label}: ` : '';
  const found = [
    full(facts, subject),
    unsaved(facts, subject),
    evicting(facts, subject),
    logged(facts, subject),
  ].filter((f) => f !== undefined);
  if (found.length > 0) return found;
  const memory = facts.maxmemory > 0 ? `${size(facts.usedMemory)} of ${size(facts.maxmemory)}` : size(facts.usedMemory);
  return [ok('redis', `${subject}${facts.version}, append-only file on, noeviction, ${memory} in use`)];
}

function full({ maxmemoryPolicy, maxmemory, usedMemory }: RedisFacts, subject: string): Finding | undefined {
  if (maxmemory === 0 || usedMemory < maxmemory || maxmemoryPolicy !== 'noeviction') return undefined;
  const message = `${subject}its memory is full (${size(usedMemory)} of ${size(maxmemory)}): it refuses jobs`;
  return problem('redis', message, 'Raise maxmemory. Imports wait, and continue by themselves.');
}

function unsaved({ failsToSave }: RedisFacts, subject: string): Finding | undefined {
  if (!failsToSave) return undefined;
  const message = `${subject}it cannot save to its disk, and refuses jobs until it can`;
  return problem('redis', message, 'Check the space and the rights of its folder; its log has the reason.');
}

function evicting({ maxmemoryPolicy: policy, maxmemory }: RedisFacts, subject: string): Finding | undefined {
  if (policy === 'noeviction') return undefined;
  const message = `${subject}maxmemory-policy is ${policy}: when its memory is full, Redis evicts jobs`;
  const advice = 'Run redis-cli config set maxmemory-policy noeviction, and set it in redis.conf.';
  return maxmemory > 0 ? problem('redis', message, advice) : warning('redis', message, advice);
}

function logged({ appendOnly }: RedisFacts, subject: string): Finding | undefined {
  if (appendOnly) return undefined;
  const message = `${subject}the append-only file is off: after a crash, jobs must be dispatched again, which takes time`;
  return warning('redis', message, 'Run redis-cli config set appendonly yes, and set it in redis.conf.');
}
