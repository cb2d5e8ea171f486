import type { Argv, CommandModule } from 'yargs';
import type { CommonOptions } from './service/session.ts';
import { EXIT, Failure } from './terminal/failure.ts';
/** Options shared by several commands. */

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

/** Commands with subcommands: `muster users list`. */

export type Subcommand = CommandModule<CommonOptions, CommonOptions>;

/** @param name what the subcommands manage: `users` */
export function group(name: string, describe: string, commands: readonly Subcommand[]): Subcommand {
  return {
    command: name,
    describe,
    builder(parser: Argv<CommonOptions>) {
      for (const command of commands) parser.command(command);
      return parser.demandCommand(1, 'Specify a command.').recommendCommands();
    },
    // The subcommands do the work.
    handler: () => {},
  };
}

/** Each command has its own option type, known only to its builder and handler; the cast erases it. */
export function subcommand<Options extends CommonOptions>(command: CommandModule<CommonOptions, Options>): Subcommand {
  return command as unknown as Subcommand;
}

export const YES = { type: 'boolean', alias: 'y', default: false, describe: 'do not ask for confirmation' } as const;

/** Parses a time in the past: a duration ago, a day or a timestamp. */

const MINUTE_MS = 60_000;
const UNIT_MS: Readonly<Record<string, number>> = {
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
  w: 7 * 24 * 60 * MINUTE_MS,
};

/** `30m`, `24h`, `7d`, `2w` before `now`; `2026-01-31` (the start of that day, UTC) or a full timestamp. @throws Failure */
export function pastDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const isTime = amount || /^\d{4}-\d\d-\d\d(T|$)/.test(text);
  const time = amount ? now - Number(amount) * (UNIT_MS[unit] ?? 0) : Date.parse(text);
  if (isTime && Math.abs(time) < 8e15) return new Date(time).toISOString();
  throw new Failure(`"${text}" is not a date or time.`, {
    exitCode: EXIT.usage,
    advice: 'Use a form such as 30m, 24h, 7d, 2w, 2026-01-31 or 2026-01-31T12:00:00Z.',
  });
}

/** Parses when a token expires: after a duration, or on a date. */

const HOUR_MS = 3_600_000;
const UNIT_MS2: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/** `90d`, `12h`, `2w`, `2027-01-31` (the end of that day, UTC) or a full timestamp. @throws Failure */
export function expiryDate(text: string, now: number = Date.now()): string {
  const [, amount, unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59Z` : text;
  const time = amount ? now + Number(amount) * (UNIT_MS2[unit] ?? 0) : Date.parse(day);
  const isTime = amount || /^\d{4}-\d\d-\d\dT/.test(day);
  if (isTime && time > now) return new Date(time).toISOString();
  throw new Failure(`"${text}" is not a future date or time.`, {
    exitCode: EXIT.usage,
    advice: 'Use a form such as 90d, 12h, 2w, 2027-01-31 or 2027-01-31T12:00:00Z.',
  });
}
