/** Judges the Redis servers behind the queue: one, several, a Cluster, or a master with its replicas and Sentinels. */
import type { QueueFacts } from '../diagnostics/queue.ts';
import { type Finding, many, ok, problem, size, warning } from './finding.ts';
import { adviceForSilent } from './silent.ts';

type RedisFacts = NonNullable<QueueFacts['redis']>;
type Role = NonNullable<QueueFacts['redisNodes']>[number]['role'];

export interface JudgedNode {
  role: Role;
  /** Names it among the others: `master 2`, or its address. */
  label: string;
  answers: boolean;
  facts?: RedisFacts | undefined;
  /** Why it does not answer, if that is known. */
  reason?: string | undefined;
}

/** @param label names the server where there are several */
export function judgeRedis(facts: RedisFacts, label?: string): Finding[] {
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

/** Each server, and what is missing for a failover. */
export function judgeNodes(nodes: JudgedNode[]): Finding[] {
  const own = nodes.flatMap(({ facts, label, answers, role, reason }) => {
    if (!answers) return [silent(label, role, reason)];
    return facts ? judgeRedis(facts, label) : [];
  });
  return [...own, ...judgeGroup(nodes)];
}

function silent(label: string, role: Role, reason?: string): Finding {
  const message = `${label} does not answer${reason ? ` (${reason})` : ''}`;
  const advice = adviceForSilent('REDIS_URL', reason);
  if (role === 'master') return problem('redis', message, advice);
  return warning('redis', message, `${advice} Without it, a failover may not be possible.`);
}

const LEAST_SENTINELS = 3;

function judgeGroup(nodes: JudgedNode[]): Finding[] {
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
