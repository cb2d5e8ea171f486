/** What commands that act on an import share: the call, and showing its result. */
import type { ImportOptions } from '../options.ts';
import type { Session } from '../service/session.ts';
import { exitCodeFor, type ImportResult, showResult } from './import-result.ts';
import { watchImport } from './watch.ts';

export interface ActionOptions extends ImportOptions {
  watch?: boolean | undefined;
}

/** @param name such as `_pause`; @throws Failure */
export function act({ api }: Session, importId: string, name: string, body?: unknown): Promise<ImportResult> {
  return api.call<ImportResult>('POST', `/admin/v1/imports/${importId}/${name}`, { body });
}

/**
 * Shows the result; with `watch` the final one, and only then a bad outcome sets the exit code.
 * @param asked the state that the command aims for, if that state ends the import
 */
export async function conclude(
  session: Session,
  result: ImportResult,
  { watch = false, shell }: ActionOptions,
  asked?: string,
): Promise<void> {
  const last = watch ? await watchImport(session, result.importId) : result;
  showResult(session.out, last);
  if (watch) shell.exitCode = exitCodeFor(last, asked);
}
