import type { Argv, CommandModule } from 'yargs';
import { type ImportOptions, importOption, TIMEOUT, WATCH } from '../options.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { watchImport } from './follow.ts';
import { exitCodeFor, type ImportResult, showResult } from './result.ts';
/** What commands that act on an import share: the call, and showing its result. */

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

/** The commands that make an import run again, with the time that is left or a new one: resume and retry. */

interface Options extends ActionOptions {
  timeout?: string | undefined;
}

export interface Continuing {
  /** Of the command, and with `_` before it of the action. */
  name: string;
  describe: string;
  examples: [command: string, what: string][];
  /** What a person should know about the result. */
  note?: (result: ImportResult) => string | undefined;
}

export function continuing({ name, describe, examples, note }: Continuing): CommandModule<CommonOptions, Options> {
  return {
    command: `${name} <import>`,
    describe,
    builder: (parser: Argv<CommonOptions>) =>
      importOption(parser).options({ timeout: TIMEOUT, watch: WATCH }).example(examples),
    async handler(options) {
      const session = await openSession(options);
      const { timeout } = options;
      const result = await act(session, options.import, `_${name}`, { timeout });
      const said = note?.(result);
      if (said) session.out.note(said);
      await conclude(session, result, options);
    },
  };
}
