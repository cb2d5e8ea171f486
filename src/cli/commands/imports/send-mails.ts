import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act } from '../../imports/action.ts';
import { type ImportResult, showResult } from '../../imports/import-result.ts';
import { isEnded } from '../../imports/progress.ts';
import { watchImport } from '../../imports/watch.ts';
import { watchMails } from '../../imports/watch-mails.ts';
import { importOption, WATCH } from '../../options.ts';
import { type CommonOptions, openSession, type Session } from '../../service/session.ts';
import { EXIT } from '../../terminal/failure.ts';

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
