/** Judges PostgreSQL and the queue, by what the service reports or what a check from this machine finds. */
import type { PostgresFacts } from '../diagnostics/postgres.ts';
import type { QueueFacts } from '../diagnostics/queue.ts';
import { type Finding, many, ok, problem, size, skipped, warning } from './finding.ts';
import { judgeNodes, judgeRedis } from './redis.ts';
import { judgeServer } from './server.ts';

const OLDEST_POSTGRES = 15;
/** About as many as one more worker process opens at its busiest, with the queue in PostgreSQL. */
const CONNECTIONS_OF_A_WORKER = 42;

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
  if (max - used >= CONNECTIONS_OF_A_WORKER) return undefined;
  const message = `${used} of ${max} connections are in use; another worker may need ${CONNECTIONS_OF_A_WORKER}`;
  return warning('postgresql', message, 'Raise max_connections, or run fewer processes.');
}

export function judgeQueue(facts: QueueFacts): Finding[] {
  const where = facts.backend === 'redis' ? 'Redis' : 'PostgreSQL';
  if (!facts.answers) {
    const advice = 'Imports wait and resume once it is back. Check that it is running and that REDIS_URL is right.';
    return [problem('queue', `${where}, which holds the jobs, does not answer`, advice)];
  }
  const jobs = facts.jobs && `${facts.jobs.imports} import and ${facts.jobs.mails} mail jobs waiting or running`;
  return [...judgeHeld(facts, where), ...judgeWorkers(facts, jobs ?? '')];
}

function judgeHeld({ redis, redisNodes }: QueueFacts, where: string): Finding[] {
  if (redisNodes) return judgeNodes(redisNodes.map((node, i) => ({ ...node, label: `${node.role} ${i + 1}` })));
  return redis ? judgeRedis(redis) : [ok('queue', `jobs are in ${where}`)];
}

function judgeWorkers({ workers, roles, dispatching }: QueueFacts, jobs: string): Finding[] {
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
  const missing = judgeRoles(roles);
  if (found.length + missing.length > 0) return [...found, ...missing];
  return [ok('workers', `${workers.imports} for imports, ${workers.mails} for mails; ${jobs}`)];
}

/** What nobody does without the role. */
const UNDONE = {
  rescue: 'nothing restarts a stuck import, ends one at its deadline, or undoes one',
  maintenance: 'expired data is not removed',
  webhooks: 'no webhook is sent',
};

/** @param roles absent when the service is older than this command; without any worker, the other findings say so */
function judgeRoles(roles: QueueFacts['roles'] | undefined): Finding[] {
  if (!roles || Object.values(roles).every((n) => n === 0)) return [];
  return (Object.keys(UNDONE) as (keyof typeof UNDONE)[])
    .filter((role) => roles[role] === 0)
    .map((role) => {
      const advice = `Add the role to WORKER_ROLES of a worker; \`muster workers\` lists those that run.`;
      return warning('workers', `no worker has the role ${role}: ${UNDONE[role]}`, advice);
    });
}
