import type { Argv } from 'yargs';
import type { PullSystem } from '../../sources/pull/system.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
/** Options of `muster pull`, the same for all systems. */

export interface PullOptions {
  shell: Shell;
  org?: string | undefined;
  from?: string | undefined;
  map?: string[] | undefined;
  hashConfig?: string | undefined;
  idPrefix?: string | undefined;
  out?: string | undefined;
  state?: string | undefined;
  restart: boolean;
  since?: string | undefined;
  follow?: string | undefined;
  onExisting?: 'fail' | 'skip' | 'update' | undefined;
  mails: 'auto' | 'none';
  withoutEmail: boolean;
  passwordSource?: string | undefined;
  timeout: string;
  batch: string;
  dryRun: boolean;
  json?: boolean | undefined;
  /** The system's own options. */
  [name: string]: unknown;
}

/** Adds the options of the system, then the common ones. */
export function pullOptions<T>(yargs: Argv<T>, system: PullSystem): Argv<T & PullOptions> {
  for (const [name, { describe, required, default: usual, choices, array }] of Object.entries(system.options)) {
    yargs.option(name, {
      type: 'string',
      requiresArg: true,
      describe,
      demandOption: required === true,
      ...(usual === undefined ? {} : { default: usual }),
      ...(choices === undefined ? {} : { choices }),
      ...(array ? { array: true, nargs: 1 } : {}),
    });
  }
  const secrets = system.secrets.map(({ env }) => env).join(', ');
  if (system.source === undefined) {
    yargs.options({
      from: {
        type: 'string',
        choices: SOURCES.map((source) => source.name),
        default: 'ndjson',
        describe: 'the source whose columns the records have; ndjson takes --map',
      },
      map: { type: 'string', array: true, nargs: 1, describe: 'field=column, for --from csv and ndjson' },
    });
  }
  return yargs
    .options({
      org: { type: 'string', requiresArg: true, describe: "the users' organization: its id, name or domain" },
      'id-prefix': { type: 'string', requiresArg: true, describe: 'text before every user id, such as shop-' },
      'hash-config': { type: 'string', requiresArg: true, describe: 'file with the parameters of all hashes' },
      out: {
        type: 'string',
        requiresArg: true,
        describe: 'save the users in a file for `muster import`, send nothing',
      },
      since: {
        type: 'string',
        requiresArg: true,
        describe: 'changes only: last (the last run), 24h, 7d or a timestamp',
      },
      follow: { type: 'string', describe: 'repeat with the changes until Ctrl-C, every 5m or as given' },
      'on-existing': {
        choices: ['fail', 'skip', 'update'] as const,
        describe: 'existing users fail, stay, or are updated (default: fail at first, update in later runs)',
      },
      mails: {
        choices: ['auto', 'none'] as const,
        default: 'none' as const,
        describe: 'none holds the mails for `muster send-mails`, auto sends them at once',
      },
      'without-email': { type: 'boolean', default: false, describe: 'import users without an email address too' },
      'password-source': {
        type: 'string',
        requiresArg: true,
        describe: 'id of the password source that verifies users without a hash, at their first sign-in',
      },
      timeout: { type: 'string', default: '1h', requiresArg: true, describe: 'time limit of each import' },
      batch: { type: 'string', default: '10000', requiresArg: true, describe: 'users in one import' },
      state: { type: 'string', requiresArg: true, describe: 'file that remembers how far it came' },
      restart: { type: 'boolean', default: false, describe: 'forget the state and begin again' },
      'dry-run': { type: 'boolean', default: false, describe: 'report what would happen, and write nothing' },
    })
    .epilogue(
      secrets === '' ? '' : `Secrets come from the environment (${secrets}) or are asked for.`,
    ) as unknown as Argv<T & PullOptions>;
}

/** @throws Failure (usage) when two options contradict each other */
export function requireFitting({ out, follow, dryRun, onExisting, org }: PullOptions): void {
  const given: [name: string, isGiven: boolean][] = [
    ['follow', follow !== undefined],
    ['dry-run', dryRun],
    ['on-existing', onExisting !== undefined],
  ];
  const [unfit] = given.find(([, isGiven]) => out !== undefined && isGiven) ?? [];
  const pair =
    unfit !== undefined ? ['out', unfit] : dryRun && follow !== undefined ? ['dry-run', 'follow'] : undefined;
  if (pair) throw new Failure(`--${pair[0]} and --${pair[1]} cannot be used together.`, { exitCode: EXIT.usage });
  if (org !== undefined || out !== undefined) return;
  throw new Failure('--org is required: it names the organization that the users belong to.', { exitCode: EXIT.usage });
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
const USUAL_MS = 5 * 60_000;

/** The pause between two rounds of `--follow`. @throws Failure (usage) */
export function intervalMs(text: string): number {
  if (text === '') return USUAL_MS;
  const [, amount, unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new Failure(`--follow must be an interval such as 30s, 5m or 1h; it is "${text}".`, { exitCode: EXIT.usage });
}
