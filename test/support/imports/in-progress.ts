/** Jobs of the queue `imports` that a worker has taken and not completed, as BullMQ stores them. */
import { Redis } from 'ioredis';
import type { Service } from '../processes/service.ts';

export async function jobsInProgress({ redisUrl, queuePrefix, pool }: Service): Promise<number> {
  const queue = `${queuePrefix}-imports`;
  if (redisUrl === undefined) {
    const text = `select count(*)::int as n from bullmq.job where queue = $1 and state = 'active'`;
    return (await pool.query<{ n: number }>(text, [queue])).rows[0]?.n as number;
  }
  const redis = new Redis(redisUrl);
  try {
    return await redis.llen(`${queuePrefix}:${queue}:active`);
  } finally {
    redis.disconnect();
  }
}
