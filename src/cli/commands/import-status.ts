/** Commands that show an import: its state, the outcome for each user, and a report of all of them. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Answer } from '../../contract/client.ts';
import { command } from '../command.ts';
import { download, OUTPUT } from '../download.ts';
import { conclude } from '../follow/follow.ts';
import { itemPages, pagesAsJson, pagesAsTable } from '../follow/pages.ts';
import { counted, type ImportProgress, number, remainingText, stateText } from '../follow/progress.ts';
import type { ImportResult } from '../follow/result.ts';
import { SIGN_IN } from '../follow/sign-in.ts';
import { flag, IMPORT, importNumber, isLimit, itemState, limit, STATE, text, WATCH, YES } from '../options.ts';
import { findOrg } from '../service/find.ts';
import type { Session } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';
import { Failure } from '../terminal/failure.ts';
import { distance } from '../terminal/output.ts';

const MOST = 100;

/** `muster status`: one import in detail, or the latest ones as a table. */
export const status = command({
  usage: 'status [import]',
  describe: 'show an import, or the latest ones',
  options: {
    import: {
      type: 'string',
      describe: 'number of the import; without it, the latest ones',
      coerce: (text: string | undefined) => text && importNumber(text),
    },
    watch: { ...WATCH, describe: 'watch until the import ends; without a number, the latest one' },
    limit: { ...limit(20), describe: `how many of the latest to list, at most ${MOST}` },
  },
  examples: [
    ['$0 status', 'the latest imports'],
    ['$0 status 17', 'import 17: counts, mails, first errors, and what you can do'],
    ['$0 status 17 --watch', 'a live bar until it ends; Ctrl-C stops watching, not the import'],
  ],
  async run(session, given) {
    const id = given.import ?? (given.watch ? await latest(session) : undefined);
    if (id === undefined) return showList(session, await list(session, given.limit));
    await conclude(session, await withCheck(session, await session.api.call('getImport', { importId: id })), given);
  },
});

/** A draft that was checked, with what its check predicts; as JSON the draft alone, as the service answers it. */
async function withCheck({ api, out }: Session, result: ImportResult): Promise<ImportResult> {
  const check = result.draft?.check;
  if (out.json || !check || result.signIn) return result;
  const { signIn } = await api.call('getImport', { importId: check.importId });
  return signIn ? { ...result, signIn } : result;
}

type ImportList = Answer<'listImports'>;

const COLUMNS = ['IMPORT', 'STATE', 'USERS', 'SUCCEEDED', 'FAILED', 'LEFT', 'REMAINING', 'STARTED'];

async function latest(session: Session): Promise<string> {
  const { imports } = await list(session, 1);
  if (imports[0]) return imports[0].importId;
  throw new Failure('There is no import yet.', { advice: '`muster import --help` shows how to start one.' });
}

function list({ api }: Session, pageSize: number): Promise<ImportList> {
  return api.call('listImports', { query: { pageSize } });
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

/** `muster sign-ins`: who of an import has signed in since, and a mail to the others. */
export const signIns = command({
  usage: 'sign-ins <import>',
  describe: 'show how many users of an import have signed in since, by day and way, and mail the others',
  options: {
    import: IMPORT,
    'send-mail': flag('mail those who have not signed in how to do so; says how many that are, and asks'),
    'dry-run': flag('with --send-mail: only say how many would get it, and why others would not'),
    url: text('with --send-mail: where they sign in, which the mail links to'),
    yes: YES,
  },
  examples: [
    ['$0 sign-ins 17', 'how many have signed in, and by which way first'],
    ['$0 sign-ins 17 --send-mail --dry-run', 'how many would get a mail, and why others would not'],
    ['$0 sign-ins 17 --send-mail --url https://app.example.com', 'asks before it sends'],
  ],
  async run(session, { sendMail, dryRun, url, yes, ...given }) {
    if (sendMail) return mailOthers(session, given.import, { dryRun, url, yes });
    const { api, out } = session;
    const found = await api.call('getImportSignIns', { importId: given.import });
    out.result(found);
    const { signedIn, notYet, ways, days, mails } = found;
    out.line(
      `${number(signedIn)} of ${number(signedIn + notYet)} users have signed in since; ${number(notYet)} have not.`,
    );
    if (mails)
      out.line(
        `Mails to those who have not: ${number(mails.users)}, sent ${number(mails.sent)}, failed ${number(mails.failed)}.`,
      );
    if (days.length === 0) return;
    const used = Object.keys(ways) as (keyof typeof ways)[];
    const rowOf = (name: string, of: typeof ways) => [name, ...used.map((way) => number(of[way] ?? 0))];
    out.table(['DAY', ...used], [...days.map(({ day, ways: by }) => rowOf(day, by)), rowOf('in all', ways)]);
  },
});

interface MailOptions {
  dryRun: boolean;
  url: string | undefined;
  yes: boolean;
}

async function mailOthers({ api, out }: Session, importId: string, { dryRun, url, yes }: MailOptions): Promise<void> {
  const preview = await api.call('previewSignInMails', { importId });
  const would = `${counted(preview.users, 'user')} who ${preview.users === 1 ? 'has' : 'have'} not signed in`;
  const others = preview.reasons.map(
    ({ reason, users }) => `${number(users)} ${reason.toLowerCase().replaceAll('_', ' ')}`,
  );
  const rest = others.length > 0 ? ` (not: ${others.join(', ')})` : '';
  if (dryRun) {
    out.result(preview);
    return out.line(`A mail would go to ${would}${rest}.`);
  }
  if (preview.users > 0 && !yes) await confirm(out, `Send a mail to ${would}${rest}?`);
  if (preview.users === 0) {
    out.result(preview);
    return out.line(`Nobody is left to mail${rest}.`);
  }
  out.result(await api.call('sendSignInMails', { importId }, { body: url === undefined ? {} : { urlTemplate: url } }));
  out.line(`Mails to ${would} are being written; \`muster sign-ins ${importId}\` counts them.`);
}

const YES_NO = { yes: 'true', no: 'false' } as const;

/** `muster items`: the outcome for each user, fetched page by page as it is printed. */
export const items = command({
  usage: 'items <import>',
  describe: 'list the users of an import and the outcome for each',
  options: {
    import: IMPORT,
    state: STATE,
    org: text('only users of this organization: id, name or domain'),
    user: text('only the user with this id'),
    'sign-in': SIGN_IN,
    'signed-in': {
      choices: ['yes', 'no'] as const,
      describe: 'only users who have signed in since the import, or who have not',
    },
    query: text('only users whose address, name or id begins with this'),
    limit: limit(50),
    all: flag('list all of them'),
    'page-token': text('continue where a previous list ended'),
  },
  check: (parser) => parser.check(isLimit),
  examples: [
    ['$0 items 17 --state failed', 'users that failed, and why'],
    ['$0 items 17 --sign-in MAIL_CODE', 'users who will sign in with a code by mail'],
    ["$0 items 17 --user 'auth0|60425dc4'", 'one user'],
    ['$0 items 17 --state failed --all --json | jq -r .items[].userId', 'ids of all users that failed'],
  ],
  async run({ out, api }, { state, org, user, signIn, signedIn, query, limit, all, pageToken, ...given }) {
    const orgId = org === undefined ? undefined : await findOrg(api, org);
    const since = signedIn && YES_NO[signedIn];
    const filter = { state: itemState(state), orgId, userId: user, signIn, signedIn: since, query };
    const pages = itemPages(api, given.import, filter, all ? Number.POSITIVE_INFINITY : limit, pageToken);
    const more = (next: string) => out.note(`There are more: add --page-token ${next}, or --all.`);
    const shown = out.json ? pagesAsJson(pages) : pagesAsTable(pages, more);
    await pipeline(Readable.from(shown), out.stream, { end: false });
  },
});

/** `muster report`: streams all users of an import to a file or to standard output. */
export const report = command({
  usage: 'report <import>',
  describe: 'write the outcome for every user, or a body of the remaining users, to correct and import again',
  options: {
    import: IMPORT,
    format: {
      ...text('JSON lines, a table for a spreadsheet, or a body to import again'),
      choices: ['ndjson', 'csv', 'dataorgs'],
      default: 'ndjson',
    },
    state: STATE,
    output: OUTPUT,
  },
  examples: [
    ['$0 report 17 --state failed --format csv -o failed.csv', 'users that failed, and why'],
    ['$0 report 17 --state failed --format dataorgs -o rest.json', 'correct it, and import it again'],
    ['$0 report 17 | jq -r .state | sort | uniq -c', 'pipe it to another program'],
  ],
  async run(session, { format, state, output, ...given }) {
    const query = { format, state: itemState(state) };
    await download(session, 'report', output, (signal) =>
      session.api.open('getImportReport', { importId: given.import }, { query, signal }),
    );
  },
});
