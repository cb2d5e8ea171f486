/** Checks from the server's own machine, with the settings in the environment, whether or not the service runs. */
import { adviceForSilent, type Finding, ok, problem, size, warning } from '../../contract/finding.ts';
import {
  checkFirstStart,
  checkReplica,
  checkSmtp,
  encryptionKeyFinding,
  keptAsFiles,
} from '../../contract/findings.ts';
import { checkSender } from '../../contract/sender-findings.ts';
import { checkConnections, checkNodes, checkPostgres, checkRedis, lacksRights } from '../../contract/store-findings.ts';
import type { LocalFacts } from '../../operate/local-diagnostics.ts';
import { type Config, ConfigError, readConfig } from '../../platform/config.ts';
import type { Shell } from '../terminal/completion.ts';
import { settingFindings } from './settings.ts';

/** Yields each finding as soon as it is known. */
export async function* checkMachine(env: Shell['env']): AsyncGenerator<Finding> {
  const config = tryConfig(env);
  if (config instanceof ConfigError) {
    yield problem('configuration', config.message, 'Correct these settings: docs/operations.md describes each one.');
    return;
  }
  yield ok('configuration', `every setting is valid; the public address is ${config.baseUrl}`);
  yield* settingFindings(env, config);
  if (config.DATABASE_URL && !config.ENCRYPTION_KEY) {
    const advice = 'Create one with openssl rand -base64 32, and keep it with the backups of the database.';
    yield problem('encryption key', 'ENCRYPTION_KEY is not set, but DATABASE_URL requires it', advice);
  }
  // Loaded only when needed, as it imports the clients of all stores.
  const { localFacts } = await import('../../operate/local-diagnostics.ts');
  const facts = await localFacts(config);
  yield* postgresFindings(facts);
  yield* replicaFindings(facts);
  yield* connectionFindings(facts, config);
  if (facts.encryptionKey) yield encryptionKeyFinding(facts.encryptionKey);
  yield* redisFindings(facts);
  yield facts.smtp ? checkSmtp(facts.smtp) : keptAsFiles();
  yield* checkSender(facts.sender);
  yield* folderFindings(facts);
  yield* checkFirstStart(facts.unusedSettings);
}

function tryConfig(env: Shell['env']) {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function postgresFindings({ postgres }: LocalFacts): Finding[] {
  if (postgres === 'embedded, not made yet') return [ok('postgresql', 'embedded; `npm start` creates it')];
  if (postgres === 'embedded, not running') return [ok('postgresql', 'embedded; it runs while `npm start` does')];
  if ('facts' in postgres) return checkPostgres(postgres.facts);
  return [
    problem('postgresql', `it does not answer (${postgres.reason})`, adviceForSilent('DATABASE_URL', postgres.reason)),
  ];
}

function replicaFindings({ replica }: LocalFacts): Finding[] {
  if (replica === undefined || 'facts' in replica) return checkReplica(replica?.facts);
  return checkReplica({ answers: false }, replica.reason);
}

/** For `npm start` with these settings. */
function connectionFindings({ postgres }: LocalFacts, { REDIS_URL, WORKERS }: Config): Finding[] {
  if (typeof postgres === 'string' || !('facts' in postgres)) return [];
  return checkConnections(postgres.facts.connections, { backend: REDIS_URL ? 'redis' : 'postgres', workers: WORKERS });
}

type Nodes = NonNullable<LocalFacts['redis']>;

function redisFindings({ redis, missingRights }: LocalFacts): Finding[] {
  if (missingRights.length > 0) return [lacksRights(missingRights)];
  if (!redis) return [ok('queue', 'jobs are in PostgreSQL, as REDIS_URL is not set')];
  const [node] = redis;
  if (redis.length === 1 && node?.facts) return checkRedis(node.facts);
  const labelOf = ({ role, address }: Nodes[number]) => (redis.length === 1 ? 'it' : `${role} ${address}`);
  return checkNodes(redis.map((one) => ({ ...one, label: labelOf(one), answers: one.reason === undefined })));
}

const LEAST_BYTES = { problem: 200 * 2 ** 20, warning: 2 * 2 ** 30 };

function folderFindings({ dataDir: { path, isWritable, freeBytes } }: LocalFacts): Finding[] {
  const found: Finding[] = [];
  if (!isWritable) {
    found.push(problem('data folder', `this user cannot write to ${path}`, 'Change its owner, or set DATA_DIR.'));
  }
  if (freeBytes < LEAST_BYTES.warning) {
    const judge = freeBytes < LEAST_BYTES.problem ? problem : warning;
    found.push(
      judge(
        'data folder',
        `only ${size(freeBytes)} are free on the disk of ${path}`,
        'Free some space, or set DATA_DIR.',
      ),
    );
  }
  return found.length > 0 ? found : [ok('data folder', `${path} is writable, ${size(freeBytes)} free`)];
}
