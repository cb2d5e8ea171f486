/** Options shared by several commands. */
import type { Argv } from 'yargs';
import type { CommonOptions } from './service/session.ts';

export interface ImportOptions extends CommonOptions {
  /** The import's number. */
  import: string;
}

/** For commands that take an import: `command: 'pause <import>'`. */
export function importOption<T extends CommonOptions>(parser: Argv<T>) {
  return parser.positional('import', {
    type: 'string',
    demandOption: true,
    describe: 'number of the import',
    coerce: importNumber,
  });
}

/** @throws Error when it is not an import's number; yargs reports it as wrong usage */
export function importNumber(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new Error(`"${text}" is not the number of an import, such as 17; \`muster status\` lists them.`);
}

export const WATCH = {
  type: 'boolean',
  alias: 'w',
  default: false,
  describe: 'watch until the import ends',
} as const;

export const TIMEOUT = {
  type: 'string',
  requiresArg: true,
  describe: 'time limit from now on, such as 30m or 1h30m; required once the deadline has passed',
} as const;

/** Item states as people type them; the names that the service and its reports use are accepted too. */
export const STATE = {
  type: 'string',
  requiresArg: true,
  choices: ['pending', 'succeeded', 'skipped', 'failed', 'timed-out', 'cancelled', 'undone'],
  coerce: (text: string | undefined) =>
    text
      ?.replace(/^ITEM_STATE_/i, '')
      .toLowerCase()
      .replaceAll('_', '-'),
  describe: 'only users in this state',
} as const;

/** `ITEM_STATE_TIMED_OUT` for `timed-out`. */
export function itemState(state: string | undefined): string | undefined {
  return state && `ITEM_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}
