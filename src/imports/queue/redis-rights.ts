/**
 * The rights that the user of REDIS_URL needs (Redis, "ACL"), and which of them it lacks.
 *
 * Redis tells it only by refusing a command, so each command is tried: on one key of our own, with arguments that leave
 * nothing behind. A command that fails for another reason, such as a full memory, counts as allowed.
 *
 * Guarantee: nothing is left behind, and no key of a job is touched.
 */
import type { Cluster, Redis } from 'ioredis';
import { parseRedisUrls } from '../../platform/redis-urls.ts';
import { withTimeout } from '../../platform/timeouts.ts';
import { connectRedis } from './redis.ts';

/** What BullMQ and our scripts call on keys, each with arguments after the key. */
const ON_KEYS: readonly (readonly string[])[] = [
  ['del'],
  ['hset', 'f', '1'],
  ['hmset', 'f', '1'],
  ['hget', 'f'],
  ['hmget', 'f'],
  ['hgetall'],
  ['hlen'],
  ['hexists', 'f'],
  ['hincrby', 'n', '1'],
  ['hdel', 'n'],
  ['del'],
  ['lpush', 'a'],
  ['rpush', 'a'],
  ['llen'],
  ['lindex', '0'],
  ['lpos', 'x'],
  ['lrange', '0', '1'],
  ['lrem', '1', 'x'],
  ['ltrim', '0', '0'],
  ['rpop'],
  ['unlink'],
  ['zadd', '1', 'a'],
  ['zrange', '0', '0'],
  ['zrangebyscore', '0', '1'],
  ['zrevrangebyscore', '1', '0'],
  ['zscore', 'a'],
  ['zcard'],
  ['zcount', '0', '1'],
  ['zpopmin'],
  ['zremrangebyscore', '0', '1'],
  ['zrem', 'a'],
  ['del'],
  ['sadd', 'a'],
  ['scard'],
  ['smembers'],
  ['srem', 'a'],
  ['incr'],
  ['incrby', '1'],
  ['get'],
  ['mget'],
  ['set', '1'],
  ['pexpire', '1000'],
  ['pttl'],
  ['exists'],
  ['type'],
  ['del'],
  ['xadd', '*', 'a', '1'],
  ['xtrim', 'MAXLEN', '0'],
  ['del'],
];

/** KEYS: the key. ARGV: commands in JSON. Returns the names of those that are refused. */
const TRY = `local refused = {}
for _, command in ipairs(cjson.decode(ARGV[1])) do
  local name = table.remove(command, 1)
  local answer = redis.pcall(name, KEYS[1], unpack(command))
  local err = type(answer) == 'table' and answer.err
  if err and (string.find(err, 'NOPERM', 1, true) or string.find(err, "can't run this command", 1, true)) then
    refused[#refused + 1] = name
  end
end
return refused`;

/** Also a store that takes no writes: that is not a matter of rights, and is found elsewhere. */
const OF_THE_TRIAL = /^(?:NOSCRIPT|WRONGTYPE|OOM|MISCONF|READONLY|NOREPLICAS)\b/;
const REFUSED = /NOPERM/;
const KEYS_REFUSED = /one of the keys|keys used as arguments|access at least one/;
const PATIENCE_MS = 3000;

/** The rights that the user lacks: names of commands, `client|list`, and `~muster:*` for keys. @throws other errors */
export async function missingRights(redis: Redis | Cluster, prefix: string): Promise<string[]> {
  const key = `{${prefix}:0}:rights`;
  const keys = `~{${prefix}:*`;
  const tried = await Promise.all([
    refusalOf(redis.call('SET', key, '1', 'PX', '1000'), 'set', keys),
    // Fails at once on a key of this type, and waits for nothing; the script then deletes the key.
    refusalOf(redis.call('BZPOPMIN', key, '0.001'), 'bzpopmin', keys),
    refusalOf(redis.call('EVAL', TRY, '1', key, JSON.stringify(ON_KEYS)), 'eval', keys),
    refusalOf(redis.call('EVALSHA', '0'.repeat(40), '1', key), 'evalsha', keys),
    refusalOf(redis.call('EXISTS', `${prefix}:rights`), 'exists', `~${prefix}:*`),
    refusalOf(redis.call('INFO', 'server'), 'info'),
    refusalOf(redis.call('CLIENT', 'LIST', 'ID', '1'), 'client|list'),
    refusalOf(redis.call('CLIENT', 'SETNAME', ''), 'client|setname'),
  ]);
  return [...new Set(tried.flat())].sort();
}

/** @param keys the right that is missing if the key is refused */
async function refusalOf(call: Promise<unknown>, name: string, keys = ''): Promise<string[]> {
  try {
    const answer = await call;
    return name === 'eval' && Array.isArray(answer) ? answer.map(String) : [];
  } catch (error) {
    const { message } = error as Error;
    if (OF_THE_TRIAL.test(message)) return [];
    if (!REFUSED.test(message)) throw error;
    return [KEYS_REFUSED.test(message) ? keys : name];
  }
}

/** Fails with the names of the rights that the user lacks. @throws MissingRights, and errors of the store */
export async function requireRights(redis: Redis | Cluster, prefix: string): Promise<void> {
  const missing = await missingRights(redis, prefix);
  if (missing.length > 0) throw new MissingRights(missing);
}

export class MissingRights extends Error {
  constructor(missing: readonly string[]) {
    super(
      `The user of REDIS_URL lacks rights in Redis: ${missing.join(', ')}. docs/operations.md lists what it needs.`,
    );
  }
}

/** The rights that are missing on any of the servers; those that do not answer are left out. Never throws. */
export async function readMissingRights(url: string, prefix: string): Promise<string[]> {
  const found = await Promise.all(
    parseRedisUrls(url).map(async (server) => {
      const redis = connectRedis(server, 1, { readyCheck: false });
      return withTimeout(missingRights(redis, prefix), PATIENCE_MS, 'Redis')
        .catch(() => [])
        .finally(() => redis.disconnect());
    }),
  );
  return [...new Set(found.flat())].sort();
}
