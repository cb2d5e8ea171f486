import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../imports/action.ts';
import { importOption, WATCH } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';

/** `muster cancel`: nobody is written once it has returned. */
export const cancel: CommandModule<CommonOptions, ActionOptions> = {
  command: 'cancel <import>',
  describe: 'end an import; who is written stays',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser).options({ watch: WATCH }).example('$0 cancel 17', 'whoever is left can still be resumed'),
  async handler(options) {
    const session = await openSession(options);
    await conclude(session, await act(session, options.import, '_cancel'), options, 'IMPORT_STATE_CANCELLED');
  },
};
