import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import { importOption, WATCH } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

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
