/** The commands that make an import run again, with the time that is left or a new one: resume and retry. */
import type { Argv, CommandModule } from 'yargs';
import { importOption, TIMEOUT, WATCH } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { type ActionOptions, act, conclude } from './action.ts';
import type { ImportResult } from './import-result.ts';

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
