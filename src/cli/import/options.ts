/** Options about the files, shared by `import` and `convert`. */
import { readFile } from 'node:fs/promises';
import type { Argv } from 'yargs';
import { ENCODINGS, type Encoding } from '../../sources/read/encoding.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, Format } from '../../sources/source.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

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

const FORMATS: readonly Format[] = ['json', 'ndjson', 'csv', 'ldif'];

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

/** @throws Failure (usage) when a file cannot be read or a mapping is not valid */
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
