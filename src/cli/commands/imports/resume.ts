import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import { importOption, TIMEOUT, WATCH } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

interface Options extends ActionOptions {
  timeout?: string | undefined;
}

/** `muster resume`: continues with exactly the remaining users. */
export const resume: CommandModule<CommonOptions, Options> = {
  command: 'resume <import>',
  describe: 'resume an import that was paused or cancelled, or that timed out',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({ timeout: TIMEOUT, watch: WATCH })
      .example('$0 resume 17', 'a paused import, with its remaining time')
      .example('$0 resume 17 --timeout 30m --watch', 'an import that timed out, with another 30 minutes'),
  async handler(options) {
    const session = await openSession(options);
    const { timeout } = options;
    await conclude(session, await act(session, options.import, '_resume', { timeout }), options);
  },
};
