/** Tells what became of the users that were sent: of an import that runs, or of a dry run. */
import type { Summary } from '../../sources/summary.ts';
import { exitCodeFor, type ImportResult, showResult } from '../imports/import-result.ts';
import { watchImport } from '../imports/watch.ts';
import type { Session } from '../service/session.ts';
import { adviceLines } from './advice.ts';
import { readFailures } from './failures.ts';
import type { Places } from './places.ts';
import type { RunOptions } from './run-options.ts';
import { groupLines } from './show-summary.ts';

export interface Sent {
  accepted: ImportResult;
  places: Places;
  summary: Summary;
}

/** Follows the import to its end with `--watch`; a dry run, always. @param draftId whose users a dry run has checked */
export async function follow(session: Session, options: RunOptions, sent: Sent, draftId?: string): Promise<void> {
  const { out, api } = session;
  const { accepted, places, summary } = sent;
  const { importId } = accepted;
  if (!options.dryRun) out.note(`Import ${importId} is accepted: every user is stored by the service.`);
  if (!options.dryRun && !options.watch) {
    out.result({ import: accepted, summary });
    out.line(`Watch progress: muster status ${importId} --watch`);
    return;
  }
  const result = draftId === undefined ? await watchImport(session, importId) : accepted;
  const failures = result.counts.failed > 0 ? await readFailures(api, importId, places) : [];
  if (out.json) out.result({ import: result, ...(draftId ? { draft: draftId } : {}), summary, failures });
  else showResult(out, result, groupLines('Failed, by reason', failures));
  for (const line of adviceLines(options, failures, draftId)) out.line(line);
  options.shell.exitCode = exitCodeFor(result);
}
