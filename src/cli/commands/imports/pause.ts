import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import { importOption, WATCH } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

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
