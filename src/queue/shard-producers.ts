/**
 * The producers of a queue that is spread over shards. A shard whose store fails is left out until it answers again.
 *
 * Guarantee: a job is added as long as one shard accepts it, and a call waits for a silent shard at most once. A job
 * may be on two shards, if one accepted it but did not answer in time: the jobs must be harmless when repeated.
 * On crash: the next process finds the failing shards by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../timeout.ts';
import type { Producer } from './keep-alive.ts';
import { isStoreFault } from './store-faults.ts';

/** Longest wait for one of several shards, in milliseconds; the others can do the same work. */
const SHARD_MS = 3000;
/** Shorter, as numbers for people and metrics are read from all shards at once. */
const READ_MS = 1500;
const RETRY_MS = 2000;

export interface ShardProducers<T> {
  /**
   * Works on the shard of this number, or on the next one that works.
   * @throws the error of the last shard when all of them fail
   */
  use<R>(number: number, work: (part: T) => Promise<R>): Promise<R>;
  /** Reads from all shards; those that fail are left out. @throws the error of a shard when all of them fail */
  read<R>(work: (part: T) => Promise<R>): Promise<R[]>;
  close(): Promise<void>;
}

/** @param answers whether a shard works again */
export function shardProducers<T>(
  producers: readonly Producer<T>[],
  answers: (part: T) => Promise<unknown>,
): ShardProducers<T> {
  const failing = new Set<number>();
  const closing = new AbortController();
  const isOne = producers.length === 1;

  function use<R>(number: number, work: (part: T) => Promise<R>, ms: number): Promise<R> {
    const used = (producers[number] as Producer<T>).use(work);
    return isOne ? used : withTimeout(used, ms, 'the queue');
  }

  async function untilItAnswers(number: number): Promise<void> {
    while (failing.has(number)) {
      await sleep(RETRY_MS, undefined, { ref: false, signal: closing.signal });
      await use(number, answers, SHARD_MS).then(
        () => failing.delete(number),
        () => {}, // tried again
      );
    }
  }

  function leaveOut(number: number): void {
    if (isOne || failing.has(number)) return;
    failing.add(number);
    untilItAnswers(number).catch(() => {}); // closed
  }

  /** The shards to try, in order: all of them if all fail. */
  function from(number: number): number[] {
    const all = producers.map((_, i) => (number + i) % producers.length);
    const working = all.filter((one) => !failing.has(one));
    return working.length > 0 ? working : all;
  }

  return {
    async use(number, work) {
      let fault: unknown;
      for (const one of from(number)) {
        try {
          return await use(one, work, SHARD_MS);
        } catch (error) {
          if (!isStoreFault(error)) throw error;
          leaveOut(one);
          fault = error;
        }
      }
      throw fault;
    },
    async read(work) {
      const results = await Promise.allSettled(from(0).map((one) => use(one, work, READ_MS)));
      const read = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
      if (read.length === 0) throw (results[0] as PromiseRejectedResult).reason;
      return read;
    },
    async close() {
      closing.abort();
      await Promise.all(producers.map((producer) => producer.close()));
    },
  };
}
