/** Faults of Redis: killed and restarted with what its file has, emptied, full, frozen. */
import { Redis } from 'ioredis';
import type { Stand } from '../stand/stand.ts';
import type { ChaosRedis } from '../stand/stores.ts';
import { during, type Fault } from './fault.ts';

const shared = { backend: 'redis' as const, places: () => ['redis'] };

function redisOf({ redis }: Stand): ChaosRedis {
  return redis as ChaosRedis;
}

async function ask(stand: Stand, command: (redis: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(redisOf(stand).port, '127.0.0.1');
  client.on('error', () => {}); // the command reports it
  await command(client).finally(() => client.disconnect());
}

/** SIGKILL; it comes back with its append-only file, which may lack the last second. */
export const killRedis: Fault = {
  ...shared,
  least: 0,
  most: 2500,
  async strike(stand, _slot, forMs) {
    const redis = redisOf(stand);
    await redis.kill();
    await during(stand, 'redis', forMs, () => redis.restart());
  },
};

/** FLUSHALL: the queue loses every job. */
export const flushRedis: Fault = {
  ...shared,
  least: 0,
  most: 0,
  strike: (stand) => ask(stand, (redis) => redis.flushall()),
};

/** Its memory is full: it answers reads, and refuses jobs. */
export const fullRedis: Fault = {
  ...shared,
  least: 500,
  most: 5000,
  async strike(stand, _slot, forMs) {
    await ask(stand, (redis) => redis.config('SET', 'maxmemory', '1'));
    await during(stand, 'redis', forMs, () => ask(stand, (redis) => redis.config('SET', 'maxmemory', '0')));
  },
};

/** SIGSTOP: it accepts connections and answers nothing; then SIGCONT. */
export const freezeRedis: Fault = {
  ...shared,
  least: 500,
  most: 6000,
  async strike(stand, _slot, forMs) {
    const { pid } = redisOf(stand);
    process.kill(pid, 'SIGSTOP');
    await during(stand, 'redis', forMs, () => process.kill(pid, 'SIGCONT'));
  },
};
