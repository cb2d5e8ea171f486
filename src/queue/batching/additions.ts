/** Jobs that are added together: which of them one call may add, on either backend. */
import type { IQueueBackend } from 'bullmq';

export type AddJobs = IQueueBackend['addJobs'];
export type Addition = Parameters<AddJobs>[0][number];

/**
 * Whether shared calls may add all of them: each has an id of its own, no option but `jobId` and those of `options`, and
 * neither a parent, a schedule nor deduplication.
 */
export function areSimple(entries: Addition[], options: ReadonlySet<string>): boolean {
  return entries.every((entry) => isSimple(entry, options)) && haveOwnIds(entries);
}

function isSimple({ job, jobId, parentKeyOpts }: Addition, known: ReadonlySet<string>): boolean {
  if (!jobId || job.parent || job.parentKey || job.repeatJobKey || job.deduplicationId) return false;
  if (parentKeyOpts?.parentDependenciesKey || parentKeyOpts?.addToWaitingChildren) return false;
  const options = job.opts as Record<string, unknown>;
  for (const option of Object.keys(options)) {
    if (options[option] !== undefined && option !== 'jobId' && !known.has(option)) return false;
  }
  return true;
}

function haveOwnIds(entries: Addition[]): boolean {
  return new Set(entries.map(({ jobId }) => jobId)).size === entries.length;
}

/** In their order, at most `most` in a chunk; the jobs of a chunk have the same name and the same values of `options`. */
export function chunksOf(entries: Addition[], most: number, options: ReadonlySet<string>): Addition[][] {
  const chunks: Addition[][] = [];
  let chunk: Addition[] = [];
  for (const entry of entries) {
    const first = chunk[0];
    if (!first || chunk.length === most || !areAlike(first, entry, options)) {
      chunk = [];
      chunks.push(chunk);
    }
    chunk.push(entry);
  }
  return chunks;
}

function areAlike({ job: one }: Addition, { job: other }: Addition, options: ReadonlySet<string>): boolean {
  if (one.name !== other.name) return false;
  for (const option of options) {
    if (optionOf(one, option) !== optionOf(other, option)) return false;
  }
  return true;
}

function optionOf({ opts }: Addition['job'], option: string): unknown {
  return (opts as Record<string, unknown>)[option];
}
