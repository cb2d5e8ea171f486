/** Options that several commands have in common. */
import type { Argv } from 'yargs';
import type { CommonOptions } from './service/session.ts';

export interface ImportOptions extends CommonOptions {
  /** Its number. */
  import: string;
}

/** For commands that name an import: `command: 'pause <import>'`. */
export function importOption<T extends CommonOptions>(parser: Argv<T>) {
  return parser.positional('import', {
    type: 'string',
    demandOption: true,
    describe: 'number of the import',
    coerce: importNumber,
  });
}

/** @throws Error, of which yargs makes a misuse of the command line, unless it is the number of an import */
export function importNumber(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new Error(`"${text}" is not the number of an import, such as 17; \`muster status\` lists them.`);
}

export const WATCH = {
  type: 'boolean',
  alias: 'w',
  default: false,
  describe: 'follow it until it has ended',
} as const;

export const TIMEOUT = {
  type: 'string',
  requiresArg: true,
  describe: 'how long it may take from now on, such as 30m or 1h30m; needed once the deadline has passed',
} as const;

/** Items' states as people type them; what the service and its reports call them is taken too. */
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

/** `ITEM_STATE_TIMED_OUT` of `timed-out`. */
export function itemState(state: string | undefined): string | undefined {
  return state && `ITEM_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}
