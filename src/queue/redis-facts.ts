/**
 * The settings of a Redis or Valkey server that matter to a queue: jobs must not be evicted, and should not be lost.
 *
 * Guarantee: uses its own connection, which is closed after the answer or after TIMEOUT_MS; writes nothing.
 */
import { Redis, type RedisOptions } from 'ioredis';

export interface RedisFacts {
  /** `Redis 7.2.4`, `Valkey 8.0.1` */
  version: string;
  /** Whether changes are logged to disk (`appendonly`). */
  appendOnly: boolean;
  /** What happens when its memory is full: `noeviction` rejects writes, every other policy evicts keys. */
  maxmemoryPolicy: string;
  /** In bytes; 0: no limit. */
  maxmemory: number;
  usedMemory: number;
  /** Whether the last write to its files failed; it then refuses all writes, as its settings are by default. */
  failsToSave: boolean;
}

const TIMEOUT_MS = 3000;
/** Of one of several servers, which are found and then asked. */
export const NODE_TIMEOUT_MS = 1500;
const ONCE: RedisOptions = { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null };

/**
 * Connects once, reads, and disconnects.
 * @throws Error when the server does not answer or rejects the connection; its `code` is that of the socket error
 */
export async function askRedis<T>(
  server: string | RedisOptions,
  read: (redis: Redis) => Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const options = { ...ONCE, connectTimeout: timeoutMs, commandTimeout: timeoutMs };
  const redis = typeof server === 'string' ? new Redis(server, options) : new Redis({ ...server, ...options });
  let fault: Error | undefined;
  // The cause of the connection failure; the waiting command fails only with "Connection is closed".
  redis.on('error', (error: Error) => {
    fault ??= error;
  });
  try {
    await redis.connect();
    return await read(redis);
  } catch (error) {
    throw fault ?? error;
  } finally {
    redis.disconnect();
  }
}

/** The text that the command INFO returns, as facts. */
export function factsOf(info: string): RedisFacts {
  const fields = new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string | undefined]));
  const valkey = fields.get('valkey_version');
  return {
    version: valkey ? `Valkey ${valkey}` : `Redis ${fields.get('redis_version') ?? 'of an unknown version'}`,
    appendOnly: fields.get('aof_enabled') === '1',
    maxmemoryPolicy: fields.get('maxmemory_policy') ?? 'unknown',
    maxmemory: Number(fields.get('maxmemory') ?? 0),
    usedMemory: Number(fields.get('used_memory') ?? 0),
    failsToSave: ['rdb_last_bgsave_status', 'aof_last_write_status'].some((name) => fields.get(name) === 'err'),
  };
}
