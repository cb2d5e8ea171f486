/** Options about the files, shared by `import` and `convert`, and the options of `import`. */
import { readFile } from 'node:fs/promises';
import type { Argv } from 'yargs';
import { PEPPER_MODES } from '../../passwords/marks.ts';
import { ENCODINGS, type Encoding, encodingNamed } from '../../sources/read/encoding.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, Format } from '../../sources/source.ts';
import type { GivenOptions } from '../command.ts';
import {
  ENTERPRISE_MAIL_CODES,
  flag,
  PASSKEY_RP_ID,
  PASSWORD_FORM,
  text,
  UNKNOWN_PASSWORDS,
  WATCH,
  YES,
} from '../options.ts';
import { wrongUsage } from '../terminal/failure.ts';

const FORMATS: readonly Format[] = ['json', 'ndjson', 'csv', 'ldif'];

const SOURCE_OPTIONS = {
  from: {
    type: 'string',
    choices: SOURCES.map((source) => source.name),
    describe: 'the system that they come from (default: detected from the content)',
  },
  'trust-from': flag('trust --from even when the content indicates another system'),
  org: { type: 'string', describe: "the users' organization: its id, name or domain" },
  hashes: {
    type: 'string',
    array: true,
    nargs: 1,
    describe: 'file of password hashes, if it is not recognized as one',
  },
  'hash-config': {
    type: 'string',
    describe: "file with the parameters of all hashes, such as Firebase's hash parameters",
  },
  map: {
    type: 'string',
    array: true,
    nargs: 1,
    describe:
      'field=column, for --from csv and ndjson, and for others what says a state, such as disabled=COLUMN; field= leaves the field out',
  },
  'hash-format': {
    type: 'string',
    describe: "how hashes that do not say it were made, such as 'sha1(salt + sha1(password))'",
  },
  'password-form': PASSWORD_FORM,
  'unknown-passwords': UNKNOWN_PASSWORDS,
  'passkey-rp-id': PASSKEY_RP_ID,
  'id-prefix': {
    type: 'string',
    describe: 'text before every user id of the export, such as shop-; for ids that another system uses too',
  },
  'quote-addresses': flag('write addresses with dots at an end of their local part, or two in a row, in quotes'),
  format: { choices: FORMATS, describe: 'format of the files (default: detected from the content)' },
  encoding: {
    type: 'string',
    coerce: encodingOf,
    describe: 'encoding of the files, such as shift_jis or windows-1250 (default: detected from the content)',
  },
  sheet: { type: 'string', describe: 'sheet of a workbook (XLSX) to read (default: the first that is not hidden)' },
} as const;

/** @throws Failure (usage) */
function encodingOf(given: string): Encoding {
  const known = encodingNamed(given);
  if (known) return known;
  throw wrongUsage(`--encoding: there is no encoding "${given}".`, `Use one of ${ENCODINGS.join(', ')}.`);
}

/** Options about the files, which `import` and `convert` share. */
export type SourceOptions = GivenOptions<typeof SOURCE_OPTIONS> & { files: string[] };

/** Adds the options about the files. */
export function sourceOptions(yargs: Argv): Argv {
  const describe = 'export files, gzipped or not; - is standard input';
  return yargs
    .positional('files', { type: 'string', array: true, demandOption: true, describe })
    .options(SOURCE_OPTIONS);
}

const RUN_OPTIONS = {
  timeout: { type: 'string', default: '1h', describe: 'time limit of the import, such as 30m or 1h30m' },
  'dry-run': flag('report everything that would happen, and write nothing'),
  'mail-previews': text('with --dry-run: folder for the HTML and the text of each mail that would be sent'),
  'mails-of': text('with --dry-run: the organization whose mails are shown: id, name or domain'),
  'on-existing': {
    choices: ['fail', 'skip', 'update'],
    default: 'fail',
    describe: 'existing users fail, stay as they are, or are updated',
  },
  mails: {
    choices: ['auto', 'none'],
    describe:
      'auto sends the mails that are due, none holds them for `muster send-mails` (default: auto, but asks if many)',
  },
  'enterprise-mail-codes': ENTERPRISE_MAIL_CODES,
  'without-email': flag('import users without an email address too; they log in with their user name and get no mail'),
  'password-source': text('id of the password source that verifies the first sign-in of users without a password'),
  'pepper-env': text('variable of the environment with the pepper that the old system added to passwords'),
  'pepper-mode': {
    choices: PEPPER_MODES,
    describe: 'how it added the pepper (default: suffix, as Devise does); without --pepper-env, asks for the pepper',
  },
  strict: flag('users with unknown fields fail'),
  webhook: { type: 'string', describe: 'URL to notify when the import ends' },
  'idempotency-key': {
    type: 'string',
    describe: 'runs with the same key and files are one import (default: a new key)',
  },
  watch: { ...WATCH, describe: 'watch until the import ends, with live progress' },
  yes: YES,
  'skip-broken': flag('skip records that cannot be read'),
} as const;

/** The options of `muster import`. */
export type RunOptions = SourceOptions & GivenOptions<typeof RUN_OPTIONS>;

const IMPORT_OPTIONS = { ...SOURCE_OPTIONS, ...RUN_OPTIONS };

/** The words of a command line that give these options again, but for those left out and those with their default. */
export function wordsOf(options: RunOptions, leftOut: readonly (keyof typeof IMPORT_OPTIONS)[]): string[] {
  const values = new Map<string, unknown>(Object.entries(options));
  return Object.entries(IMPORT_OPTIONS).flatMap(([name, definition]) => {
    const value = values.get(name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()));
    const isDefault = 'default' in definition && definition.default === value && name !== 'timeout';
    if (value === undefined || isDefault || (leftOut as string[]).includes(name)) return [];
    if (value === false) return isDefault ? [] : [`--no-${name}`];
    return [value].flat().flatMap((one) => (one === true ? [`--${name}`] : [`--${name}`, String(one)]));
  });
}

/** Adds the options of `muster import`. */
export function runOptions(yargs: Argv): Argv {
  return sourceOptions(yargs).options(RUN_OPTIONS);
}

/** What the sources need to convert. @throws Failure (usage) when a file cannot be read or a mapping is not valid */
export async function convertOptions({
  hashConfig,
  hashFormat,
  map,
  passwordForm,
  unknownPasswords,
  passkeyRpId,
}: Pick<SourceOptions, 'hashConfig' | 'hashFormat' | 'map'> &
  Partial<Pick<SourceOptions, 'passwordForm' | 'unknownPasswords' | 'passkeyRpId'>>): Promise<ConvertOptions> {
  return {
    ...(hashFormat === undefined ? {} : { hashFormat }),
    ...(hashConfig === undefined ? {} : { hashConfig: await textOf(hashConfig) }),
    ...(map === undefined ? {} : { map: Object.fromEntries(map.map(pair)) }),
    ...(passwordForm === undefined ? {} : { passwordForms: passwordForm }),
    ...(unknownPasswords === undefined ? {} : { unknownPasswords }),
    ...(passkeyRpId === undefined ? {} : { passkeyRpId }),
  };
}

function pair(given: string): [field: string, column: string] {
  const at = given.indexOf('=');
  if (at > 0) return [given.slice(0, at).trim(), given.slice(at + 1).trim()];
  throw wrongUsage(
    `--map must be field=column; it is "${given}".`,
    "For example, use --map email=Mail or --map 'metadata.team=Team name'.",
  );
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw wrongUsage(`The file of --hash-config cannot be read: ${error.message}.`);
  });
}

/** A Go duration, as the service takes one: `30m`, `1h30m`, `1.5h`. */
const DURATION =
  /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*$/;

/** Checks `--timeout` before a file is read; the service has the last word about its size. @throws Failure (usage) */
export function requireTimeout(timeout: string): void {
  if (DURATION.test(timeout) && /[1-9]/.test(timeout)) return;
  throw wrongUsage(
    `--timeout must be a duration of more than 0; it is "${timeout}".`,
    'For example, use --timeout 30m or --timeout 1h30m.',
  );
}
