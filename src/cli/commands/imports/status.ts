import type { Argv, CommandModule } from 'yargs';
import { conclude } from '../../imports/action.ts';
import type { ImportResult } from '../../imports/import-result.ts';
import { type ImportProgress, number, remainingText, stateText } from '../../imports/progress.ts';
import { type ImportOptions, importNumber, WATCH } from '../../options.ts';
import { type CommonOptions, openSession, type Session } from '../../service/session.ts';
import { EXIT, Failure } from '../../terminal/failure.ts';
import { distance } from '../../terminal/times.ts';

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
