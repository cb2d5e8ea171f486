import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Argv, CommandModule } from 'yargs';
import { download, OUTPUT } from '../download.ts';
import { conclude } from '../follow/action.ts';
import { itemPages, pagesAsJson, pagesAsTable } from '../follow/pages.ts';
import { type ImportProgress, number, remainingText, stateText } from '../follow/progress.ts';
import type { ImportResult } from '../follow/result.ts';
import { type ImportOptions, importNumber, importOption, itemState, STATE, WATCH } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { distance } from '../terminal/output.ts';

interface Options extends Omit<ImportOptions, 'import'> {
  import?: string | undefined;
  watch?: boolean | undefined;
  limit: number;
}

interface ImportList {
  imports: ImportProgress[];
  nextPageToken?: string;
}

const MOST = 100;
const COLUMNS = ['IMPORT', 'STATE', 'USERS', 'SUCCEEDED', 'FAILED', 'LEFT', 'REMAINING', 'STARTED'];

/** `muster status`: one import in detail, or the latest ones as a table. */
export const status: CommandModule<CommonOptions, Options> = {
  command: 'status [import]',
  describe: 'show an import, or the latest ones',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('import', {
        type: 'string',
        describe: 'number of the import; without it, the latest ones',
        coerce: (text: string | undefined) => text && importNumber(text),
      })
      .options({
        watch: { ...WATCH, describe: 'watch until the import ends; without a number, the latest one' },
        limit: {
          type: 'number',
          requiresArg: true,
          default: 20,
          describe: `how many of the latest to list, at most ${MOST}`,
        },
      })
      .example('$0 status', 'the latest imports')
      .example('$0 status 17', 'import 17: counts, mails, first errors, and what you can do')
      .example('$0 status 17 --watch', 'a live bar until it ends; Ctrl-C stops watching, not the import'),
  async handler(options) {
    const session = await openSession(options);
    const { watch, limit } = options;
    const id = options.import ?? (watch ? await latest(session) : undefined);
    if (id === undefined) return showList(session, await list(session, limit));
    const result = await session.api.call<ImportResult>('GET', `/admin/v1/imports/${id}`);
    await conclude(session, result, { ...options, import: id });
  },
};

async function latest(session: Session): Promise<string> {
  const { imports } = await list(session, 1);
  if (imports[0]) return imports[0].importId;
  throw new Failure('There is no import yet.', {
    exitCode: EXIT.failed,
    advice: '`muster import --help` shows how to start one.',
  });
}

function list({ api }: Session, pageSize: number): Promise<ImportList> {
  return api.call<ImportList>('GET', '/admin/v1/imports', { query: { pageSize } });
}

function showList({ out }: Session, found: ImportList): void {
  out.result(found);
  if (found.imports.length === 0) out.line('There is no import yet. `muster import --help` shows how to start one.');
  else out.table(COLUMNS, found.imports.map(row));
}

function row(progress: ImportProgress): string[] {
  const { importId, dryRun, counts, details } = progress;
  const left = counts.pending + counts.timedOut + counts.cancelled;
  return [
    importId,
    `${stateText(progress)}${dryRun ? ' (dry run)' : ''}`,
    ...[counts.total, counts.succeeded, counts.failed, left].map(number),
    remainingText(progress),
    distance(details.creationDate ?? ''),
  ];
}

interface Options2 extends ImportOptions {
  state?: string | undefined;
  org?: string | undefined;
  user?: string | undefined;
  query?: string | undefined;
  limit: number;
  all?: boolean | undefined;
  pageToken?: string | undefined;
}

/** `muster items`: the outcome for each user, fetched page by page as it is printed. */
export const items: CommandModule<CommonOptions, Options2> = {
  command: 'items <import>',
  describe: 'list the users of an import and the outcome for each',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        state: STATE,
        org: { type: 'string', requiresArg: true, describe: 'only users of this organization: id, name or domain' },
        user: { type: 'string', requiresArg: true, describe: 'only the user with this id' },
        query: { type: 'string', requiresArg: true, describe: 'only users whose address, name or id begins with this' },
        limit: { type: 'number', requiresArg: true, default: 50, describe: 'how many to list' },
        all: { type: 'boolean', default: false, describe: 'list all of them' },
        'page-token': { type: 'string', requiresArg: true, describe: 'continue where a previous list ended' },
      })
      .check(({ limit }) => (Number.isInteger(limit) && limit > 0) || '--limit must be a whole number of at least 1.')
      .example('$0 items 17 --state failed', 'users that failed, and why')
      .example("$0 items 17 --user 'auth0|60425dc4'", 'one user')
      .example('$0 items 17 --state failed --all --json | jq -r .items[].userId', 'ids of all users that failed'),
  async handler(options) {
    const { out, api } = await openSession(options);
    const orgId = options.org === undefined ? undefined : await findOrg(api, options.org);
    const query = { state: itemState(options.state), orgId, userId: options.user, query: options.query };
    const most = options.all ? Number.POSITIVE_INFINITY : options.limit;
    const pages = itemPages(api, options.import, query, most, options.pageToken);
    const more = (next: string) => out.note(`There are more: add --page-token ${next}, or --all.`);
    const text = out.json ? pagesAsJson(pages) : pagesAsTable(pages, more);
    await pipeline(Readable.from(text), out.stream, { end: false });
  },
};

interface Options3 extends ImportOptions {
  format: string;
  state?: string | undefined;
  output: string;
}

/** `muster report`: streams all users of an import to a file or to standard output. */
export const report: CommandModule<CommonOptions, Options3> = {
  command: 'report <import>',
  describe: 'write the outcome for every user, or a body of the remaining users, to correct and import again',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        format: {
          type: 'string',
          requiresArg: true,
          choices: ['ndjson', 'csv', 'dataorgs'],
          default: 'ndjson',
          describe: 'JSON lines, a table for a spreadsheet, or a body to import again',
        },
        state: STATE,
        output: OUTPUT,
      })
      .example('$0 report 17 --state failed --format csv -o failed.csv', 'users that failed, and why')
      .example('$0 report 17 --state failed --format dataorgs -o rest.json', 'correct it, and import it again')
      .example('$0 report 17 | jq -r .state | sort | uniq -c', 'pipe it to another program'),
  async handler(options) {
    const session = await openSession(options);
    const query = { format: options.format, state: itemState(options.state) };
    await download(session, 'report', options.output, (signal) =>
      session.api.open('GET', `/admin/v1/imports/${options.import}/report`, { query, signal }),
    );
  },
};
