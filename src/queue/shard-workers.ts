/**
 * One worker for each shard of a queue, and one for each further shard that still has jobs: those of processes that
 * have, or had, more shards or other servers.
 *
 * Guarantee: the shards share the number of jobs in progress equally, at least one each, so that a silent shard holds
 * up no other. A shard with jobs is found within some seconds. On crash: BullMQ gives the jobs to another worker.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningWorker } from './keep-alive.ts';
import type { Shard } from './shards.ts';

const LOOK_MS = 3000;
/** A further shard is left after so many looks in a row that found no jobs. */
const PATIENCE = 3;

export interface ShardWork {
  /** Always worked on. */
  shards: readonly Shard[];
  /** Further shards with jobs. Never throws. */
  others(): Promise<Shard[]>;
  /** Jobs in progress at once on all shards. */
  concurrency: number;
  start(shard: Shard, concurrency: number): RunningWorker;
}

interface Further {
  worker: RunningWorker;
  /** Looks in a row that found no jobs. */
  empty: number;
}

export function workOnShards({ shards, others, concurrency, start }: ShardWork): RunningWorker {
  let most = concurrency;
  const further = new Map<string, Further>();
  const each = () => Math.max(1, Math.floor(most / (shards.length + further.size)));
  const own = shards.map((shard) => start(shard, each()));
  const all = () => [...own, ...[...further.values()].map(({ worker }) => worker)];
  const divide = () => {
    for (const worker of all()) worker.limit(each());
  };

  async function look(): Promise<void> {
    const found = new Map((await others()).map((shard) => [`${shard.server} ${shard.prefix}`, shard]));
    if (stopping.signal.aborted) return;
    const before = further.size;
    const left = [...further].filter(([key, one]) => {
      one.empty = found.has(key) ? 0 : one.empty + 1;
      return one.empty >= PATIENCE;
    });
    for (const [key] of left) further.delete(key);
    for (const [key, shard] of found) {
      if (!further.has(key)) further.set(key, { worker: start(shard, each()), empty: 0 });
    }
    if (further.size !== before || left.length > 0) divide();
    await Promise.all(left.map(([, { worker }]) => worker.stop()));
  }

  const stopping = new AbortController();
  async function keepLooking(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look();
      await sleep(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => {}); // cut short by the stop
    }
  }
  const looking = keepLooking();

  return {
    limit(jobs) {
      most = jobs;
      divide();
    },
    inProgress: () => all().reduce((sum, worker) => sum + worker.inProgress(), 0),
    async stop() {
      stopping.abort();
      await Promise.all([looking, ...all().map((worker) => worker.stop())]);
    },
  };
}
