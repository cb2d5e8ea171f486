/**
 * Jobs that are added together are sent as calls of redis-add.lua, up to a hundred each.
 *
 * Unlike BullMQ, it stores a job's id only as its id, not as an option `jobId` too, and gives all jobs of a call the time
 * of the first: so the options of all jobs are the same, and are neither packed nor sent for each.
 * Guarantee: the jobs are in the queue when this resolves. Adding an id that exists changes nothing.
 */
import type { IQueueBackend } from 'bullmq';
import type { BatchDeps } from './redis-finish.ts';
import { type Arg, isRefusal, MOST_AT_ONCE, type RunScript } from './redis-scripts.ts';

type Add = IQueueBackend['addJobs'];
type Entry = Parameters<Add>[0][number];

const KEYS = ['wait', 'meta', 'id', 'events', 'marker'] as const;
/** Options that the script knows; a job with any other one is added by BullMQ. */
const OPTIONS = new Set(['jobId', 'attempts', 'lifo']);

/** Replaces `addJobs` of the backend. */
export function batchAdditions(backend: IQueueBackend, { scripts, keys, warn }: BatchDeps): void {
  const plain = backend.addJobs.bind(backend) as Add;
  const queueKeys = KEYS.map((key) => keys[key] as string);

  async function addShared(run: RunScript, chunk: Entry[]): Promise<string[]> {
    const { job } = chunk[0] as Entry;
    const { attempts, lifo } = job.opts;
    const options = JSON.stringify({ attempts, lifo });
    const args: Arg[] = [keys[''] as string, job.name, options, job.timestamp, lifo ? 'RPUSH' : 'LPUSH'];
    for (const entry of chunk) args.push(entry.jobId, entry.job.data);
    try {
      if (await run(queueKeys, args)) return chunk.map(({ jobId }) => jobId);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      warn(`Additions were not batched: ${error.message}`);
    }
    return plain(chunk);
  }

  backend.addJobs = async (entries) => {
    await backend.waitUntilReady(); // loads BullMQ's scripts
    const run = scripts.addStandardJob;
    const isSimple = run && entries.length > 1 && entries.every(isSimpleEntry) && haveOwnIds(entries);
    if (!isSimple) return plain(entries);
    return (await Promise.all(chunksOf(entries).map((chunk) => addShared(run, chunk)))).flat();
  };
}

function isSimpleEntry({ job, jobId, parentKeyOpts }: Entry): boolean {
  if (!jobId || job.parentKey || job.repeatJobKey || job.deduplicationId) return false;
  if (parentKeyOpts?.parentDependenciesKey || parentKeyOpts?.addToWaitingChildren) return false;
  const options = job.opts as Record<string, unknown>;
  for (const option of Object.keys(options)) {
    if (options[option] !== undefined && !OPTIONS.has(option)) return false;
  }
  return true;
}

function haveOwnIds(entries: Entry[]): boolean {
  return new Set(entries.map(({ jobId }) => jobId)).size === entries.length;
}

/** In their order; the jobs of a chunk differ only in id and data. */
function chunksOf(entries: Entry[]): Entry[][] {
  const chunks: Entry[][] = [];
  let chunk: Entry[] = [];
  for (const entry of entries) {
    const first = chunk[0];
    if (!first || chunk.length === MOST_AT_ONCE || !areAlike(first, entry)) {
      chunk = [];
      chunks.push(chunk);
    }
    chunk.push(entry);
  }
  return chunks;
}

function areAlike({ job: one }: Entry, { job: other }: Entry): boolean {
  return one.name === other.name && one.opts.attempts === other.opts.attempts && one.opts.lifo === other.opts.lifo;
}
