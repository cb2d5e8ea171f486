/**
 * What a Redis or Valkey says of itself that matters to a queue: a job must neither be evicted nor, at best, lost.
 *
 * Guarantee: a connection of its own, gone when the answer is there or TIMEOUT_MS are over; nothing is written.
 */
import { Redis } from 'ioredis';

export interface RedisFacts {
  /** `Redis 7.2.4`, `Valkey 8.0.1` */
  version: string;
  /** Whether changes are logged to disk (`appendonly`). */
  appendOnly: boolean;
  /** What happens when its memory is full: `noeviction` refuses to write, everything else throws keys away. */
  maxmemoryPolicy: string;
  /** Bytes; 0: no limit. */
  maxmemory: number;
  usedMemory: number;
}

const TIMEOUT_MS = 3000;

/** @throws Error when it does not answer, or refuses us; its `code` is that of the socket */
export async function readRedisFacts(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let fault: Error | undefined;
  // What happened to the connection; the command that waits for it hears only that it is closed.
  redis.on('error', (error: Error) => {
    fault ??= error;
  });
  try {
    await redis.connect();
    return factsOf(await redis.info());
  } catch (error) {
    throw fault ?? error;
  } finally {
    redis.disconnect();
  }
}

function factsOf(info: string): RedisFacts {
  const fields = new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string | undefined]));
  const valkey = fields.get('valkey_version');
  return {
    version: valkey ? `Valkey ${valkey}` : `Redis ${fields.get('redis_version') ?? 'of an unknown version'}`,
    appendOnly: fields.get('aof_enabled') === '1',
    maxmemoryPolicy: fields.get('maxmemory_policy') ?? 'unknown',
    maxmemory: Number(fields.get('maxmemory') ?? 0),
    usedMemory: Number(fields.get('used_memory') ?? 0),
  };
}
