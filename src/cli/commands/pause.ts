import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../imports/action.ts';
import { importOption, WATCH } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';

/** `muster pause`: nobody is written once it has returned. */
export const pause: CommandModule<CommonOptions, ActionOptions> = {
  command: 'pause <import>',
  describe: 'let an import stand: nobody is written, and its clock stands too',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser).options({ watch: WATCH }).example('$0 pause 17', 'until `muster resume 17`'),
  async handler(options) {
    const session = await openSession(options);
    await conclude(session, await act(session, options.import, '_pause'), options);
  },
};
