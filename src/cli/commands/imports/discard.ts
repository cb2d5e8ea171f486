import type { Argv, CommandModule } from 'yargs';
import { act } from '../../imports/action.ts';
import { type ImportOptions, importOption } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

/** `muster discard`: erases a draft with its users. */
export const discard: CommandModule<CommonOptions, ImportOptions> = {
  command: 'discard <import>',
  describe: 'discard a draft; its users and files are erased',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser).example('$0 discard 17', 'what `muster import FILE --dry-run` has left'),
  async handler(options) {
    const session = await openSession(options);
    const result = await act(session, options.import, '_discard');
    session.out.result(result);
    session.out.line(`Draft ${options.import} is discarded.`);
  },
};
