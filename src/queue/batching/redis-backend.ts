/**
 * BullMQ's Redis backend, with many completions or additions in one call.
 *
 * BullMQ adds and completes each job by a separate script call. Most of the cost is in packing, sending, parsing and
 * starting the call, and in reading data that is the same for all jobs. Here jobs that end at the same moment share one
 * call (redis-finish.ts), as do jobs that are added together (redis-add.ts). All other operations are BullMQ's.
 *
 * Guarantee: a single job is completed as BullMQ completes it. Where a shared call does not apply or fails, BullMQ's call
 * is made for each job, so one bad job fails alone.
 * On crash: each call was carried out or not, as without batching.
 */
import { type BackendFactory, createRedisBackend, type IQueueBackend, QueueKeys } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import { batchAdditions } from './redis-add.ts';
import { batchCompletions, type CompletionOptions } from './redis-finish.ts';
import { loadedScripts, type Warn } from './redis-scripts.ts';

/** Each connection is an ioredis client that BullMQ has not used yet; the caller closes it. */
export function batchedRedisBackend(warn: Warn): BackendFactory<IQueueBackend, unknown> {
  const create = createRedisBackend as BackendFactory<IQueueBackend, unknown>;
  return (name, options, ...rest) => {
    const scripts = loadedScripts(options.connection as Redis | Cluster, warn);
    const backend = create(name, options, ...rest);
    const { prefix } = options as { prefix?: string };
    const keys = new QueueKeys(prefix).getKeys(name) as Record<string, string>;
    batchCompletions(backend, options as CompletionOptions, { scripts, keys, warn });
    batchAdditions(backend, { scripts, keys, warn });
    return backend;
  };
}
