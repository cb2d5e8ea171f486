import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../imports/action.ts';
import { importOption, TIMEOUT, WATCH } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';

interface Options extends ActionOptions {
  timeout?: string | undefined;
}

/** `muster resume`: goes on with exactly the users who are left. */
export const resume: CommandModule<CommonOptions, Options> = {
  command: 'resume <import>',
  describe: 'go on with an import that was paused or cancelled, or ran out of time',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({ timeout: TIMEOUT, watch: WATCH })
      .example('$0 resume 17', 'a paused one, with the time that it has left')
      .example('$0 resume 17 --timeout 30m --watch', 'one that ran out of time, with another half an hour'),
  async handler(options) {
    const session = await openSession(options);
    const { timeout } = options;
    await conclude(session, await act(session, options.import, '_resume', { timeout }), options);
  },
};
