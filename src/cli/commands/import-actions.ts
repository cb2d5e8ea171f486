/** Commands that act on one import: each calls an action of the service, and shows the import. */
import type { CommandModule } from 'yargs';
import type { Answer } from '../../contract/client.ts';
import { command } from '../command.ts';
import { conclude, watchImport, watchMails } from '../follow/follow.ts';
import { counted, isEnded, number } from '../follow/progress.ts';
import { type ImportResult, showResult } from '../follow/result.ts';
import { ENTERPRISE_MAIL_CODES, flag, IMPORT, text, WATCH, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import { confirm, readSecret } from '../terminal/ask.ts';
import { EXIT, Interrupted, wrongUsage } from '../terminal/failure.ts';

interface Action {
  name: string;
  describe: string;
  act(api: Api, importId: string, timeout: string | undefined): Promise<ImportResult>;
  hasTimeout?: boolean;
  examples: readonly (readonly [line: string, what: string])[];
  /** The state that the command aims for, if that state ends the import. */
  asked?: string;
  /** What a person should know about the result. */
  note?: (result: ImportResult) => string | undefined;
}

const NOBODY =
  'There are no users to retry: entries that were invalid from the start stay failed until you correct them, as with `muster causes` and `muster fix`.';

const ACTIONS: readonly Action[] = [
  {
    name: 'pause',
    describe: 'pause an import and its time limit; no users are written meanwhile',
    act: (api, importId) => api.call('pauseImport', { importId }),
    examples: [['$0 pause 17', 'until `muster resume 17`']],
  },
  {
    name: 'resume',
    describe: 'resume an import that was paused or cancelled, or that timed out',
    act: (api, importId, timeout) => api.call('resumeImport', { importId }, { body: { timeout } }),
    hasTimeout: true,
    examples: [
      ['$0 resume 17', 'a paused import, with its remaining time'],
      ['$0 resume 17 --timeout 30m --watch', 'an import that timed out, with another 30 minutes'],
    ],
  },
  {
    name: 'cancel',
    describe: 'cancel an import; users that it has written stay',
    act: (api, importId) => api.call('cancelImport', { importId }),
    examples: [['$0 cancel 17', '`muster resume 17` continues with the rest']],
    asked: 'IMPORT_STATE_CANCELLED',
  },
  {
    name: 'retry',
    describe: 'retry failed users: those that conflicted or were refused when they were written, or were corrected',
    act: (api, importId, timeout) => api.call('retryImport', { importId }, { body: { timeout } }),
    hasTimeout: true,
    examples: [
      ['$0 retry 17', 'while its deadline has not passed'],
      ['$0 retry 17 --timeout 30m --watch', 'with 30 minutes from now on'],
    ],
    note: ({ state }) => (state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS' ? NOBODY : undefined),
  },
];

const TIMEOUT = text('time limit from now on, such as 30m or 1h30m; required once the deadline has passed');

function actionCommand({ name, describe, act, hasTimeout, examples, asked, note }: Action): CommandModule {
  return command({
    usage: `${name} <import>`,
    describe,
    options: { import: IMPORT, ...(hasTimeout ? { timeout: TIMEOUT } : {}), watch: WATCH },
    examples,
    async run(session, given) {
      const result = await act(session.api, given.import, given.timeout as string | undefined);
      const advice = note?.(result);
      if (advice) session.out.note(advice);
      await conclude(session, result, given, asked);
    },
  });
}

const start = command({
  usage: 'start <import>',
  describe: 'import the users of a draft, such as a dry run leaves',
  options: {
    import: IMPORT,
    timeout: { ...text('time limit, such as 30m or 1h30m'), default: '1h' },
    'on-existing': {
      choices: ['fail', 'skip', 'update'],
      default: 'fail',
      describe: 'existing users fail, stay as they are, or are updated',
    },
    mails: {
      choices: ['auto', 'none'],
      default: 'auto',
      describe: 'auto sends the mails that are due, none holds them for `muster send-mails`',
    },
    'enterprise-mail-codes': ENTERPRISE_MAIL_CODES,
    webhook: text('URL to notify when the import ends'),
    'skip-broken': flag('skip records of its files that cannot be read'),
    watch: WATCH,
  },
  examples: [
    ['$0 start 17 --watch', 'what `muster import FILE --dry-run` has checked'],
    ['$0 start 17 --timeout 30m --mails none', 'within 30 minutes, and hold the mails'],
  ],
  async run(session, { timeout, onExisting, mails, enterpriseMailCodes, webhook, skipBroken, ...given }) {
    const body = { timeout, onExisting, mails, enterpriseMailCodes, webhook, skipBroken };
    await conclude(session, await session.api.call('startImport', { importId: given.import }, { body }), given);
  },
});

const discard = command({
  usage: 'discard <import>',
  describe: 'discard a draft; its users and files are erased',
  options: { import: IMPORT },
  examples: [['$0 discard 17', 'what `muster import FILE --dry-run` has left']],
  async run(session, given) {
    session.out.result(await session.api.call('discardImport', { importId: given.import }));
    session.out.line(`Draft ${given.import} is discarded.`);
  },
});

const TRIED: Readonly<Record<Answer<'tryImportPassword'>['result'], string>> = {
  FITS: 'The password fits.',
  DOES_NOT_FIT: 'The password does not fit.',
  NO_HASH: 'The entry has no password.',
  AT_SOURCE: 'A password source verifies the password of this user at the first sign-in.',
  INVALID_ENTRY: 'This user fails, so nothing was compared; `muster causes` says why.',
  NO_USER: 'No user of the draft has this name.',
};

const tryPassword = command({
  usage: 'try-password <import> <user>',
  describe: 'try the password of one user of a draft before it starts',
  options: {
    import: IMPORT,
    user: { type: 'string', demandOption: true, describe: 'the user name, email address or id in the files' },
  },
  examples: [
    ['$0 try-password 17 ann@acme.example', 'asks for the password, which is not shown'],
    ['$0 try-password 17 ann@acme.example < password.txt', 'for scripts: exit code 1 unless it fits'],
  ],
  async run({ api, out }, { import: importId, user: loginName, shell }) {
    const typed = await readSecret(out, 'Password (not shown): ', new Interrupted('Nothing was tried.'));
    const password = typed.replace(/\r?\n$/, '');
    if (password === '') throw wrongUsage('The password is empty.', 'Type it, or pipe it in.');
    const tried = await api.call('tryImportPassword', { importId }, { body: { loginName, password } });
    out.result(tried);
    out.line(TRIED[tried.result]);
    if (tried.result !== 'FITS') shell.exitCode = EXIT.failed;
  },
});

const undo = command({
  usage: 'undo <import>',
  describe: 'remove the users that an import created, except those who have signed in or been changed since',
  options: {
    import: IMPORT,
    yes: YES,
    'dry-run': flag('only say how many users would be removed and kept'),
    watch: WATCH,
  },
  examples: [
    ['$0 undo 17 --dry-run', 'says how many users it would remove and keep, and why'],
    ['$0 undo 17', 'says how many users it removes, and asks'],
    ['$0 undo 17 --yes --watch', 'for scripts: ends when all of them are removed'],
  ],
  async run(session, { yes, dryRun, ...given }) {
    const { out, api } = session;
    const importId = given.import;
    const preview = () => api.call('previewImportUndo', { importId });
    if (dryRun) {
      const found = await preview();
      out.result(found);
      return out.line(`An undo of import ${given.import} would ${effectOf(found)}.`);
    }
    const now = await api.call('getImport', { importId });
    if (!yes && removesUsers(now)) await confirm(out, `Undo import ${given.import}: ${effectOf(await preview())}?`);
    await conclude(session, await api.call('undoImport', { importId }), given, 'IMPORT_STATE_UNDONE');
  },
});

/** Whether an undo does anything; if not, the service refuses it and says why. */
function removesUsers({ dryRun, state }: ImportResult): boolean {
  return !dryRun && !['IMPORT_STATE_UNDOING', 'IMPORT_STATE_UNDONE', 'IMPORT_STATE_RUNNING'].includes(state);
}

/** `remove 3 users, keep 2 (1 signed in, 1 changed)` */
function effectOf({ removed, kept, reasons }: Answer<'previewImportUndo'>): string {
  const why = reasons.map(({ reason, users }) => `${number(users)} ${reason.toLowerCase().replaceAll('_', ' ')}`);
  return `remove ${counted(removed, 'user')}, keep ${number(kept)}${kept > 0 ? ` (${why.join(', ')})` : ''}`;
}

const sendMails = command({
  usage: 'send-mails <import>',
  describe: 'send the mails that an import with --mails none holds',
  options: { import: IMPORT, watch: { ...WATCH, describe: 'watch until no mail is waiting' } },
  examples: [['$0 send-mails 17 --watch', 'send them, and watch']],
  async run(session, { watch, shell, ...given }) {
    const result = await session.api.call('sendImportMails', { importId: given.import });
    if (!watch) return showResult(session.out, result);
    // Users that are still to be written may need a mail too.
    if (!isEnded(result)) await watchImport(session, result.importId);
    const last = await watchMails(session, result.importId);
    showResult(session.out, last);
    if (last.mails.failed > 0) shell.exitCode = EXIT.failed;
  },
});

/** In the order of the help. */
export const importActions = [tryPassword, start, discard, ...ACTIONS.map(actionCommand), undo, sendMails];
