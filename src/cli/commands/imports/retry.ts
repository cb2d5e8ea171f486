import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import { importOption, TIMEOUT, WATCH } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

interface Options extends ActionOptions {
  timeout?: string | undefined;
}

const NOBODY =
  'There are no users to retry: entries that were invalid from the start stay failed until you correct them, as with `muster causes` and `muster fix`.';

/** `muster retry`: failed users become pending again; entries that are still invalid stay failed. */
export const retry: CommandModule<CommonOptions, Options> = {
  command: 'retry <import>',
  describe: 'retry failed users: those that conflicted or were refused when they were written, or were corrected',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({ timeout: TIMEOUT, watch: WATCH })
      .example('$0 retry 17', 'while its deadline has not passed')
      .example('$0 retry 17 --timeout 30m --watch', 'with 30 minutes from now on'),
  async handler(options) {
    const session = await openSession(options);
    const { timeout } = options;
    const result = await act(session, options.import, '_retry', { timeout });
    if (result.state === 'IMPORT_STATE_COMPLETED_WITH_ERRORS') session.out.note(NOBODY);
    await conclude(session, result, options);
  },
};
