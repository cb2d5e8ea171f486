/** Redis' own figures of its memory, in addition to the kernel's figures of its process. */
import { Redis } from 'ioredis';

const MB = 1e6;

export interface RedisMemory {
  /** Peak of the memory allocated for data and clients; the rest of the process is the server itself. */
  usedMemoryPeakMegabytes: number;
  /** Rewrites of the append-only file so far, each by a forked child. */
  rewrites: number;
  /** Memory of the last rewrite's child, without the pages it shared with the server. */
  rewriteCopyMegabytes: number;
}

/** @throws Error when Redis does not report a figure, as before version 7 */
export async function readRedisMemory(url: string): Promise<RedisMemory> {
  const redis = new Redis(url);
  try {
    return parseRedisMemory(await redis.info());
  } finally {
    redis.disconnect();
  }
}

/** @param info the reply to INFO: lines of `name:value` */
export function parseRedisMemory(info: string): RedisMemory {
  const figure = (name: string): number => {
    const value = new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1];
    if (value === undefined) throw new Error(`Redis does not report ${name}.`);
    return Number(value);
  };
  return {
    usedMemoryPeakMegabytes: megabytes(figure('used_memory_peak')),
    rewrites: figure('aof_rewrites'),
    rewriteCopyMegabytes: megabytes(figure('aof_last_cow_size')),
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / (MB / 10)) / 10;
}
