/** What is wrong with PostgreSQL and the queue, by what the service, or a look from this machine, says of them. */
import type { PostgresFacts } from '../../diagnostics/postgres.ts';
import type { QueueFacts } from '../../diagnostics/queue.ts';
import { type Finding, many, ok, problem, size, skipped, warning } from './finding.ts';
import { judgeServer } from './judge-server.ts';

type RedisFacts = NonNullable<QueueFacts['redis']>;

const OLDEST_POSTGRES = 15;
/** About as many as one more worker process may open, at its busiest, with the queue in PostgreSQL. */
const CONNECTIONS_OF_A_WORKER = 45;

export function judgePostgres(facts: PostgresFacts): Finding[] {
  const { version, connections, databaseBytes } = facts;
  const used = `${connections.used} of ${connections.max} connections`;
  const own = [tooOld(facts), migrated(facts), durable(facts), roomy(facts)].filter((f) => f !== undefined);
  const found = [...own, ...judgeServer(facts.server)];
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
    const message = `the database has migration ${applied}, this program knows ${known}`;
    return problem('migrations', message, 'An older program runs on a newer database: start the newer one.');
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
  const message = `${bad.join(', ')}: what was accepted may be lost when the machine dies`;
  return warning('postgresql', message, 'Set them back to `on`, unless all of the data may be lost.');
}

function roomy({ connections: { used, max } }: PostgresFacts): Finding | undefined {
  if (max - used >= CONNECTIONS_OF_A_WORKER) return undefined;
  const message = `${used} of ${max} connections are in use; another worker may take ${CONNECTIONS_OF_A_WORKER}`;
  return warning('postgresql', message, 'Raise max_connections, or run fewer processes.');
}

export function judgeQueue(facts: QueueFacts): Finding[] {
  const where = facts.backend === 'redis' ? 'Redis' : 'PostgreSQL';
  if (!facts.answers) {
    const advice = 'Imports stand still and go on by themselves once it is back. Is it running, is REDIS_URL right?';
    return [problem('queue', `${where}, which holds the jobs, does not answer`, advice)];
  }
  const jobs = facts.jobs && `${facts.jobs.imports} import and ${facts.jobs.mails} mail jobs wait or run`;
  const held = facts.redis ? judgeRedis(facts.redis) : [ok('queue', `jobs are in ${where}`)];
  return [...held, ...judgeWorkers(facts, jobs ?? '')];
}

export function judgeRedis(facts: RedisFacts): Finding[] {
  const found = [evicting(facts), logged(facts)].filter((f) => f !== undefined);
  if (found.length > 0) return found;
  const memory = facts.maxmemory > 0 ? `${size(facts.usedMemory)} of ${size(facts.maxmemory)}` : size(facts.usedMemory);
  return [ok('redis', `${facts.version}, append-only file on, noeviction, ${memory} in use`)];
}

function evicting({ maxmemoryPolicy: policy, maxmemory }: RedisFacts): Finding | undefined {
  if (policy === 'noeviction') return undefined;
  const message = `maxmemory-policy is ${policy}: with its memory full, Redis throws jobs away`;
  const advice = 'redis-cli config set maxmemory-policy noeviction, and in redis.conf.';
  return maxmemory > 0 ? problem('redis', message, advice) : warning('redis', message, advice);
}

function logged({ appendOnly }: RedisFacts): Finding | undefined {
  if (appendOnly) return undefined;
  const message = 'the append-only file is off: after a crash, jobs are handed out anew, which takes its time';
  return warning('redis', message, 'redis-cli config set appendonly yes, and in redis.conf.');
}

function judgeWorkers({ workers, dispatching }: QueueFacts, jobs: string): Finding[] {
  if (!workers) return [skipped('workers', 'what holds the jobs does not tell who takes them')];
  const start = 'Start one: npm run worker';
  const found = [
    ...(workers.imports > 0 ? [] : [problem('workers', `nobody writes imported users; ${jobs}`, start)]),
    ...(workers.mails > 0 ? [] : [problem('workers', `nobody sends mails; ${jobs}`, start)]),
    ...(dispatching
      ? []
      : [problem('workers', 'nobody hands out the users of imports', `${start}, with the role dispatch`)]),
  ];
  if (found.length > 0) return found;
  return [ok('workers', `${workers.imports} for imports, ${workers.mails} for mails; ${jobs}`)];
}
