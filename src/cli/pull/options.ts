/** Options of `muster pull`: some of each system, and more that all systems share. */
import type { Argv } from 'yargs';
import type { PullSystem } from '../../sources/pull/system.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { GivenOptions } from '../command.ts';
import { ENTERPRISE_MAIL_CODES, flag, PASSKEY_RP_ID, PASSWORD_FORM, text, UNKNOWN_PASSWORDS } from '../options.ts';
import { wrongUsage } from '../terminal/failure.ts';

/** For a system whose records have no columns of their own. */
const COLUMN_OPTIONS = {
  from: {
    type: 'string',
    choices: SOURCES.map((source) => source.name),
    default: 'ndjson',
    describe: 'the source whose columns the records have; ndjson takes --map',
  },
} as const;

const OPTIONS = {
  org: text("the users' organization: its id, name or domain"),
  'id-prefix': text('text before every user id, such as shop-'),
  map: {
    type: 'string',
    array: true,
    nargs: 1,
    describe:
      'field=column, for --from csv and ndjson; for other sources only what says a state, such as disabled=COLUMN',
  },
  'hash-config': text('file with the parameters of all hashes'),
  'hash-format': text("how hashes that do not say it were made, such as 'sha1(salt + sha1(password))'"),
  'password-form': PASSWORD_FORM,
  'unknown-passwords': UNKNOWN_PASSWORDS,
  'passkey-rp-id': PASSKEY_RP_ID,
  'quote-addresses': flag('write addresses with dots at an end of their local part, or two in a row, in quotes'),
  out: text('save the users in a file for `muster import`, send nothing'),
  since: text('changes only: last (the last run), 24h, 7d or a timestamp'),
  follow: { type: 'string', describe: 'repeat with the changes until Ctrl-C, every 5m or as given' },
  'on-existing': {
    choices: ['fail', 'skip', 'update'],
    describe: 'existing users fail, stay, or are updated (default: fail at first, update in later runs)',
  },
  mails: {
    choices: ['auto', 'none'],
    default: 'none',
    describe: 'none holds the mails for `muster send-mails`, auto sends them at once',
  },
  'enterprise-mail-codes': ENTERPRISE_MAIL_CODES,
  'without-email': flag('import users without an email address too'),
  'password-source': text('id of the password source that verifies users without a hash, at their first sign-in'),
  timeout: { ...text('time limit of each import'), default: '1h' },
  batch: { ...text('users in one import'), default: '10000' },
  state: text('file that remembers how far it came'),
  restart: flag('forget the state and begin again'),
  'dry-run': flag('report what would happen, and write nothing'),
} as const;

/** Also the options of the system itself, by their names. */
export type PullOptions = GivenOptions<typeof OPTIONS> &
  Partial<GivenOptions<typeof COLUMN_OPTIONS>> & { [name: string]: unknown };

/** Adds the options of the system, then the common ones. */
export function pullOptions(yargs: Argv, system: PullSystem): Argv {
  for (const [name, { describe, required, default: usual, choices, array }] of Object.entries(system.options)) {
    yargs.option(name, {
      ...text(describe),
      demandOption: required === true,
      ...(usual === undefined ? {} : { default: usual }),
      ...(choices === undefined ? {} : { choices }),
      ...(array ? { array: true, nargs: 1 } : {}),
    });
  }
  if (system.source === undefined) yargs.options(COLUMN_OPTIONS);
  const secrets = system.secrets.map(({ env }) => env).join(', ');
  const epilogue = secrets === '' ? '' : `Secrets come from the environment (${secrets}) or are asked for.`;
  return yargs.options(OPTIONS).epilogue(epilogue);
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
  if (pair) throw wrongUsage(`--${pair[0]} and --${pair[1]} cannot be used together.`);
  if (org !== undefined || out !== undefined) return;
  throw wrongUsage('--org is required: it names the organization that the users belong to.');
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
const USUAL_MS = 5 * 60_000;

/** The pause between two rounds of `--follow`. @throws Failure (usage) */
export function intervalMs(text: string): number {
  if (text === '') return USUAL_MS;
  const [, amount, unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw wrongUsage(`--follow must be an interval such as 30s, 5m or 1h; it is "${text}".`);
}
