/** Saves all users of the old system in a file, or those that changed. */
import type { PullSystem } from '../../pull/system.ts';
import { counted } from '../imports/progress.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { type PullJob, runOf } from './job.ts';
import { openSaved } from './save.ts';
import { type PullState, writeState } from './state.ts';

/** @throws Failure @throws PullError */
export async function saveRound(job: PullJob, state: PullState, since: string | undefined): Promise<void> {
  const { session, options, system, old, statePath, signal } = job;
  const path = options.out as string;
  if (since !== undefined && !system.tellsChanges) throw unasked(system);
  const run = runOf(job, state, since);
  if (since !== undefined && state.run === undefined && run.since === undefined) throw unasked(system);
  const file = await openSaved(path, run.bytes ?? 0, system.asText ?? ((record) => JSON.stringify(record)));
  let mark: string | undefined;
  try {
    for await (const page of old.pages({ cursor: run.cursor, since: run.since })) {
      signal.throwIfAborted();
      run.bytes = await file.add(page.records);
      run.cursor = page.cursor;
      run.read += page.records.length;
      mark = page.mark ?? mark;
      await writeState(statePath, { ...state, run });
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.finish();
  await writeState(statePath, { ...state, run: undefined, last: { startedAt: run.startedAt, mark } });
  session.out.result({ read: run.read, file: path });
  const from = system.source === undefined ? '' : ` --from ${system.source}`;
  session.out.line(
    `${counted(run.read, 'user')} of ${system.title} are in ${path}: muster import ${path}${from} --org …`,
  );
}

function unasked({ title }: PullSystem): Failure {
  return new Failure(`${title} cannot be asked for changes, and a file has nothing to compare with.`, {
    exitCode: EXIT.usage,
    advice: 'Leave out --since, or leave out --out to send the changes.',
  });
}
