import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import { importOption, WATCH } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

interface Options extends ActionOptions {
  timeout: string;
  onExisting: string;
  mails: string;
  webhook?: string | undefined;
  skipBroken: boolean;
}

/** `muster start`: imports the users of a draft, without sending them again. */
export const start: CommandModule<CommonOptions, Options> = {
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
      ) as unknown as Argv<Options>,
  async handler(options) {
    const session = await openSession(options);
    const { timeout, onExisting, mails, webhook, skipBroken } = options;
    const body = { timeout, onExisting, mails, webhook, skipBroken };
    await conclude(session, await act(session, options.import, '_start', body), options);
  },
};
