import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude, continuing } from '../follow/action.ts';
import { watchImport, watchMails } from '../follow/follow.ts';
import { counted, isEnded, number } from '../follow/progress.ts';
import { type ImportResult, showResult } from '../follow/result.ts';
import { type ImportOptions, importOption, WATCH } from '../options.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';
import { EXIT } from '../terminal/failure.ts';
/** `muster cancel`: no user is written after it returns. */
export const cancel: CommandModule<CommonOptions, ActionOptions> = {
  command: 'cancel <import>',
  describe: 'cancel an import; users that it has written stay',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({ watch: WATCH })
      .example('$0 cancel 17', '`muster resume 17` continues with the rest'),
  async handler(options) {
    const session = await openSession(options);
    await conclude(session, await act(session, options.import, '_cancel'), options, 'IMPORT_STATE_CANCELLED');
  },
};

/** `muster discard`: erases a draft with its users. */
export const discard: CommandModule<CommonOptions, ImportOptions> = {
  command: 'discard <import>',
  describe: 'discard a draft; its users and files are erased',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser).example('$0 discard 17', 'what `muster import FILE --dry-run` has left'),
  async handler(options) {
    const session = await openSession(options);
    const result = await act(session, options.import, '_discard');
    session.out.result(result);
    session.out.line(`Draft ${options.import} is discarded.`);
  },
};

/** `muster pause`: no user is written after it returns. */
export const pause: CommandModule<CommonOptions, ActionOptions> = {
  command: 'pause <import>',
  describe: 'pause an import and its time limit; no users are written meanwhile',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser).options({ watch: WATCH }).example('$0 pause 17', 'until `muster resume 17`'),
  async handler(options) {
    const session = await openSession(options);
    await conclude(session, await act(session, options.import, '_pause'), options);
  },
};

/** `muster resume`: continues with exactly the remaining users. */
export const resume = continuing({
  name: 'resume',
  describe: 'resume an import that was paused or cancelled, or that timed out',
  examples: [
    ['$0 resume 17', 'a paused import, with its remaining time'],
    ['$0 resume 17 --timeout 30m --watch', 'an import that timed out, with another 30 minutes'],
  ],
});

const NOBODY =
  'There are no users to retry: entries that were invalid from the start stay failed until you correct them, as with `muster causes` and `muster fix`.';

/** `muster retry`: failed users become pending again; entries that are still invalid stay failed. */
export const retry = continuing({
  name: 'retry',
  describe: 'retry failed users: those that conflicted or were refused when they were written, or were corrected',
  examples: [
    ['$0 retry 17', 'while its deadline has not passed'],
    ['$0 retry 17 --timeout 30m --watch', 'with 30 minutes from now on'],
  ],
  note: ({ state }) => (state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS' ? NOBODY : undefined),
});

interface Options extends ActionOptions {
  yes?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/** The answer of `undo_preview`. */
interface Preview {
  removed: number;
  kept: number;
  reasons: { reason: string; users: number }[];
}

/** `muster undo`: removes the users that an import created; asks first. */
export const undo: CommandModule<CommonOptions, Options> = {
  command: 'undo <import>',
  describe: 'remove the users that an import created, except those who have signed in or been changed since',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        yes: { type: 'boolean', alias: 'y', default: false, describe: 'do not ask for confirmation' },
        'dry-run': { type: 'boolean', default: false, describe: 'only say how many users would be removed and kept' },
        watch: WATCH,
      })
      .example('$0 undo 17 --dry-run', 'says how many users it would remove and keep, and why')
      .example('$0 undo 17', 'says how many users it removes, and asks')
      .example('$0 undo 17 --yes --watch', 'for scripts: ends when all of them are removed'),
  async handler(options) {
    const session = await openSession(options);
    const preview = () => session.api.call<Preview>('GET', `/admin/v1/imports/${options.import}/undo_preview`);
    if (options.dryRun) return showPreview(session, options.import, await preview());
    const now = await session.api.call<ImportResult>('GET', `/admin/v1/imports/${options.import}`);
    if (!options.yes && removesUsers(now))
      await confirm(session.out, `Undo import ${options.import}: ${will(await preview())}?`);
    await conclude(session, await act(session, options.import, '_undo'), options, 'IMPORT_STATE_UNDONE');
  },
};

/** When it does not, the service refuses and says why. */
function removesUsers({ dryRun, state }: ImportResult): boolean {
  return !dryRun && !['IMPORT_STATE_UNDOING', 'IMPORT_STATE_UNDONE', 'IMPORT_STATE_RUNNING'].includes(state);
}

function showPreview({ out }: Session, importId: string, preview: Preview): void {
  out.result(preview);
  out.line(`An undo of import ${importId} would ${will(preview)}.`);
}

/** `remove 3 users, keep 2 (1 signed in, 1 changed)` */
function will({ removed, kept, reasons }: Preview): string {
  const why = reasons.map(({ reason, users }) => `${number(users)} ${reason.toLowerCase().replaceAll('_', ' ')}`);
  return `remove ${counted(removed, 'user')}, keep ${number(kept)}${kept > 0 ? ` (${why.join(', ')})` : ''}`;
}

/** `muster send-mails`: sends the mails that an import with `--mails none` holds. */
export const sendMails: CommandModule<CommonOptions, ActionOptions> = {
  command: 'send-mails <import>',
  describe: 'send the mails that an import with --mails none holds',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({ watch: { ...WATCH, describe: 'watch until no mail is waiting' } })
      .example('$0 send-mails 17 --watch', 'send them, and watch'),
  async handler(options) {
    const session = await openSession(options);
    const result = await act(session, options.import, '_send_mails');
    if (!options.watch) return showResult(session.out, result);
    const last = await untilSent(session, result);
    showResult(session.out, last);
    if (last.mails.failed > 0) options.shell.exitCode = EXIT.failed;
  },
};

/** Users that are still to be written may need a mail too. */
async function untilSent(session: Session, result: ImportResult): Promise<ImportResult> {
  if (!isEnded(result)) await watchImport(session, result.importId);
  return watchMails(session, result.importId);
}

interface Options2 extends ActionOptions {
  timeout: string;
  onExisting: string;
  mails: string;
  webhook?: string | undefined;
  skipBroken: boolean;
}

/** `muster start`: imports the users of a draft, without sending them again. */
export const start: CommandModule<CommonOptions, Options2> = {
  command: 'start <import>',
  describe: 'import the users of a draft, such as a dry run leaves',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        timeout: { type: 'string', requiresArg: true, default: '1h', describe: 'time limit, such as 30m or 1h30m' },
        'on-existing': {
          choices: ['fail', 'skip', 'update'] as const,
          default: 'fail' as const,
          describe: 'existing users fail, stay as they are, or are updated',
        },
        mails: {
          choices: ['auto', 'none'] as const,
          default: 'auto' as const,
          describe: 'auto sends the mails that are due, none holds them for `muster send-mails`',
        },
        webhook: { type: 'string', requiresArg: true, describe: 'URL to notify when the import ends' },
        'skip-broken': { type: 'boolean', default: false, describe: 'skip records of its files that cannot be read' },
        watch: WATCH,
      })
      .example('$0 start 17 --watch', 'what `muster import FILE --dry-run` has checked')
      .example(
        '$0 start 17 --timeout 30m --mails none',
        'within 30 minutes, and hold the mails',
      ) as unknown as Argv<Options2>,
  async handler(options) {
    const session = await openSession(options);
    const { timeout, onExisting, mails, webhook, skipBroken } = options;
    const body = { timeout, onExisting, mails, webhook, skipBroken };
    await conclude(session, await act(session, options.import, '_start', body), options);
  },
};
