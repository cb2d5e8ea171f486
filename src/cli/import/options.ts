import { readFile } from 'node:fs/promises';
import type { Argv } from 'yargs';
import { ENCODINGS, type Encoding } from '../../sources/read/records.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, Format } from '../../sources/source.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

/** Options about the files, shared by `import` and `convert`, and the options of `import`. */

export interface SourceOptions {
  shell: Shell;
  files: string[];
  hashes?: string[] | undefined;
  from?: string | undefined;
  trustFrom: boolean;
  org?: string | undefined;
  hashConfig?: string | undefined;
  map?: string[] | undefined;
  idPrefix?: string | undefined;
  format?: Format | undefined;
  encoding?: Encoding | undefined;
}

/** The options of `muster import`. */
export interface RunOptions extends SourceOptions {
  timeout: string;
  dryRun: boolean;
  onExisting: 'fail' | 'skip' | 'update';
  mails?: 'auto' | 'none' | undefined;
  strict: boolean;
  withoutEmail: boolean;
  passwordSource?: string | undefined;
  pepperEnv?: string | undefined;
  pepperMode?: string | undefined;
  webhook?: string | undefined;
  idempotencyKey?: string | undefined;
  watch: boolean;
  yes: boolean;
  skipBroken: boolean;
}

const FORMATS: readonly Format[] = ['json', 'ndjson', 'csv', 'ldif'];

/** Adds the options about the files. */
export function sourceOptions<T>(yargs: Argv<T>): Argv<T & SourceOptions> {
  return yargs
    .positional('files', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'export files, gzipped or not; - is standard input',
    })
    .options({
      from: {
        type: 'string',
        choices: SOURCES.map((source) => source.name),
        describe: 'the system that they come from (default: detected from the content)',
      },
      'trust-from': {
        type: 'boolean',
        default: false,
        describe: 'trust --from even when the content indicates another system',
      },
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
      map: { type: 'string', array: true, nargs: 1, describe: 'field=column, for --from csv and ndjson' },
      'id-prefix': {
        type: 'string',
        describe: 'text before every user id of the export, such as shop-; for ids that another system uses too',
      },
      format: { choices: FORMATS, describe: 'format of the files (default: detected from the content)' },
      encoding: { choices: ENCODINGS, describe: 'encoding of the files (default: detected from the content)' },
    }) as unknown as Argv<T & SourceOptions>;
}

/** What the sources need to convert. @throws Failure (usage) when a file cannot be read or a mapping is not valid */
export async function convertOptions({
  hashConfig,
  map,
}: Pick<SourceOptions, 'hashConfig' | 'map'>): Promise<ConvertOptions> {
  return {
    ...(hashConfig === undefined ? {} : { hashConfig: await text(hashConfig) }),
    ...(map === undefined ? {} : { map: Object.fromEntries(map.map(pair)) }),
  };
}

function pair(given: string): [field: string, column: string] {
  const at = given.indexOf('=');
  if (at > 0 && at < given.length - 1) return [given.slice(0, at).trim(), given.slice(at + 1).trim()];
  throw new Failure(`--map must be field=column; it is "${given}".`, {
    exitCode: EXIT.usage,
    advice: "For example, use --map email=Mail or --map 'metadata.team=Team name'.",
  });
}

async function text(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new Failure(`The file of --hash-config cannot be read: ${error.message}.`, { exitCode: EXIT.usage });
  });
}

/** A Go duration, as the service takes one: `30m`, `1h30m`, `1.5h`. */
const DURATION =
  /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*$/;

/** Checks `--timeout` before a file is read; the service has the last word about its size. @throws Failure (usage) */
export function requireTimeout(timeout: string): void {
  if (DURATION.test(timeout) && /[1-9]/.test(timeout)) return;
  throw new Failure(`--timeout must be a duration of more than 0; it is "${timeout}".`, {
    exitCode: EXIT.usage,
    advice: 'For example, use --timeout 30m or --timeout 1h30m.',
  });
}
