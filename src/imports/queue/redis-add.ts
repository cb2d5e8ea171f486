/**
 * Adds jobs to Redis by calls of redis-add.lua, up to a hundred jobs each.
 *
 * Unlike BullMQ, it stores a job's id only as its id, not as an option `jobId` too, and gives all jobs of a call the time
 * of the first: so the options of all jobs are the same, and are neither packed nor sent for each.
 * Guarantee: the jobs are in the queue when `addJobs` resolves. Adding an id that exists changes nothing.
 */
import type { IQueueBackend } from 'bullmq';
import { type Addition, type AddJobs, areSimple, chunksOf } from './batching.ts';
import { type Arg, type BatchDeps, isRefusal, MOST_AT_ONCE, type RunScript } from './redis-scripts.ts';

const KEYS = ['wait', 'meta', 'id', 'events', 'marker'] as const;
/** Options that the script knows; a job with any other one is added by BullMQ. */
const OPTIONS: ReadonlySet<string> = new Set(['attempts', 'lifo']);

/** Replaces `addJobs` of the backend. */
export function batchAdditions(backend: IQueueBackend, { findScript, keys, warn }: BatchDeps): void {
  const plain = backend.addJobs.bind(backend) as AddJobs;
  const queueKeys = KEYS.map((key) => keys[key] as string);

  async function addChunk(run: RunScript, chunk: Addition[]): Promise<string[]> {
    const { job } = chunk[0] as Addition;
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
    const run = findScript('addStandardJob');
    if (!run || entries.length === 1 || !areSimple(entries, OPTIONS)) return plain(entries);
    const chunks = chunksOf(entries, MOST_AT_ONCE, OPTIONS);
    return (await Promise.all(chunks.map((chunk) => addChunk(run, chunk)))).flat();
  };
}
