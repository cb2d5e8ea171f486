/** Jobs of the queue `imports` that workers have taken and not completed, on all shards, as BullMQ stores them. */
import { Redis } from 'ioredis';
import type { Service } from '../processes/service.ts';

export async function jobsInProgress({ redisUrl, queuePrefix, pool }: Service): Promise<number> {
  const queue = `${queuePrefix}-imports`;
  if (redisUrl === undefined) {
    const text = `select count(*)::int as n from bullmq.job where queue = $1 and state = 'active'`;
    return (await pool.query<{ n: number }>(text, [queue])).rows[0]?.n as number;
  }
  const counts = await Promise.all(redisUrl.split(' ').map((url) => activeOn(url, `*${queuePrefix}*:${queue}:active`)));
  return counts.reduce((sum, n) => sum + n, 0);
}

/** A shard has a prefix of its own (src/imports/queue/shards.ts). */
async function activeOn(url: string, keys: string): Promise<number> {
  const redis = new Redis(url);
  try {
    const counts = await Promise.all((await redis.keys(keys)).map((key) => redis.llen(key)));
    return counts.reduce((sum, n) => sum + n, 0);
  } finally {
    redis.disconnect();
  }
}
