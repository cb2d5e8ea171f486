/**
 * Shares a limited number of slots between keys, such as imports, organizations or users: work waits for a slot, and the
 * keys that wait take turns (round robin). Each queue is in the memory of one process.
 *
 * Guarantee: the work of one key begins in the order in which it came. A key with little work waits for at most one
 * piece of work of each other key, however much they have waiting. No work waits while it could begin. Work that ends,
 * with or without an error, frees its slot.
 */

/** What is used up: all slots, the slots of the key, or the slots for keys that have work without the reserve. */
export type Refusal = 'limit' | 'key' | 'reserve';

export interface FairQueueOptions {
  /** How many slots there are. Several keys may share `Infinity` slots, each with its own `limitPerKey`. */
  limit: number;
  /** The most slots of one key. */
  limitPerKey?: number;
  /** The last slots, this many, go only to keys without one, a slot each: keys with long work cannot keep out others. */
  reserve?: number;
  /** The longest that work waits: the costs of all waiting work, divided by `limit`; in the unit of the costs. */
  longestWait?: number;
  /** The most pieces of work that wait for one key. */
  mostWaitingPerKey?: number;
  /** The error for work that gets no slot and may not wait. */
  refuse?(why: Refusal): Error;
}

export interface WaitOptions {
  /** About how long the work takes, in the unit of `longestWait`; default: 1. */
  cost?: number;
  /** Aborted when nobody needs the work any more: it is dropped if it waits. Work that runs is not interrupted. */
  signal?: AbortSignal | undefined;
}

export interface FairQueue {
  /**
   * Runs `work` when its turn has come.
   * @throws what `work` throws; the error of `refuse`; the reason of the signal; the reason of `stop`
   */
  run<T>(key: string, work: () => Promise<T>, options?: WaitOptions): Promise<T>;
  /**
   * Takes a slot without waiting; call the result once, to free it.
   * @throws the error of `refuse`
   */
  take(key: string): () => void;
  /** How many slots each key has now; a key without one is absent. */
  readonly held: ReadonlyMap<string, number>;
  /** How many slots are free for all keys together that have this many each, and may have one more. */
  freeFor(held: number): number;
  /** Begins no more work: what waits and what comes later rejects with the reason; what runs goes on. */
  stop(reason: Error): void;
}

interface Waiter {
  cost: number;
  start(): void;
  drop(reason: unknown): void;
}

export function openFairQueue({
  limit,
  limitPerKey = Number.POSITIVE_INFINITY,
  reserve = 0,
  longestWait = Number.POSITIVE_INFINITY,
  mostWaitingPerKey = Number.POSITIVE_INFINITY,
  refuse = noSlot,
}: FairQueueOptions): FairQueue {
  const held = new Map<string, number>();
  const lines = openLines();
  let running = 0;
  let stopped: { reason: Error } | undefined;

  function freeFor(count: number): number {
    return limit - running - (count > 0 ? reserve : 0);
  }

  /** Why the key gets no slot now. */
  function refusalOf(key: string): Refusal | undefined {
    const count = held.get(key) ?? 0;
    if (count >= limitPerKey) return 'key';
    if (running >= limit) return 'limit';
    return freeFor(count) > 0 ? undefined : 'reserve';
  }

  function occupy(key: string): void {
    running++;
    held.set(key, (held.get(key) ?? 0) + 1);
  }

  /** Ends the use of a slot, and begins all work that may begin now. */
  function free(key: string): void {
    running--;
    const count = (held.get(key) ?? 0) - 1;
    if (count > 0) held.set(key, count);
    else held.delete(key);
    lines.addTurn(key);
    for (const next of lines.turns) {
      if (running >= limit) return;
      if (refusalOf(next)) continue;
      occupy(next);
      lines.startFirst(next);
      if (refusalOf(next) !== 'key') lines.addTurn(next);
    }
  }

  function wait(key: string, { cost = 1, signal }: WaitOptions, why: Refusal): Promise<void> {
    if (lines.count(key) >= mostWaitingPerKey) throw refuse('key');
    if (lines.cost() / limit >= longestWait) throw refuse(why);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { cost, start: resolve, drop: reject };
    const abort = () => {
      lines.leave(key, waiter);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort);
    lines.join(key, waiter);
    if (why !== 'key') lines.addTurn(key);
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  return {
    async run(key, work, options = {}) {
      options.signal?.throwIfAborted();
      if (stopped) throw stopped.reason;
      const why = refusalOf(key);
      if (why) await wait(key, options, why);
      else occupy(key);
      try {
        return await work();
      } finally {
        free(key);
      }
    },
    take(key) {
      const why = refusalOf(key);
      if (why) throw refuse(why);
      occupy(key);
      return () => free(key);
    },
    held,
    freeFor,
    stop(reason) {
      stopped = { reason };
      lines.dropAll(reason);
    },
  };
}

/** What waits, a line for each key; and the keys whose first in line may begin when a slot is free, in their order. */
function openLines() {
  const lines = new Map<string, Set<Waiter>>();
  const turns = new Set<string>();
  let cost = 0;

  function leave(key: string, waiter: Waiter): void {
    const line = lines.get(key);
    if (!line?.delete(waiter)) return;
    cost -= waiter.cost;
    if (line.size > 0) return;
    lines.delete(key);
    turns.delete(key);
  }

  return {
    turns: turns as Iterable<string>,
    count: (key: string) => lines.get(key)?.size ?? 0,
    cost: () => cost,
    leave,
    join(key: string, waiter: Waiter): void {
      const line = lines.get(key);
      if (line) line.add(waiter);
      else lines.set(key, new Set([waiter]));
      cost += waiter.cost;
    },
    /** Lets the key take its turn, after all others, if something waits in its line. */
    addTurn(key: string): void {
      if (lines.has(key)) turns.add(key);
    },
    startFirst(key: string): void {
      turns.delete(key);
      for (const first of lines.get(key) ?? []) {
        leave(key, first);
        first.start();
        return;
      }
    },
    dropAll(reason: Error): void {
      for (const line of lines.values()) for (const waiter of line) waiter.drop(reason);
      lines.clear();
      turns.clear();
      cost = 0;
    },
  };
}

function noSlot(why: Refusal): Error {
  return new Error(`no free slot: ${why}`);
}
