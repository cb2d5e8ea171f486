import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../imports/action.ts';
import type { ImportResult } from '../imports/import-result.ts';
import { counted } from '../imports/progress.ts';
import { importOption, WATCH } from '../options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { confirm } from '../terminal/confirm.ts';

interface Options extends ActionOptions {
  yes?: boolean | undefined;
}

/** `muster undo`: removes the users that an import created; asks first. */
export const undo: CommandModule<CommonOptions, Options> = {
  command: 'undo <import>',
  describe: 'remove the users that an import created, except those who have signed in or been changed since',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        yes: { type: 'boolean', alias: 'y', default: false, describe: 'do not ask for confirmation' },
        watch: WATCH,
      })
      .example('$0 undo 17', 'says how many users it removes, and asks')
      .example('$0 undo 17 --yes --watch', 'for scripts: ends when all of them are removed'),
  async handler(options) {
    const session = await openSession(options);
    const now = await session.api.call<ImportResult>('GET', `/admin/v1/imports/${options.import}`);
    if (!options.yes && removesUsers(now)) await confirm(session.out, question(now));
    await conclude(session, await act(session, options.import, '_undo'), options, 'IMPORT_STATE_UNDONE');
  },
};

/** When it does not, the service refuses and says why. */
function removesUsers({ dryRun, state }: ImportResult): boolean {
  return !dryRun && !['IMPORT_STATE_UNDOING', 'IMPORT_STATE_UNDONE', 'IMPORT_STATE_RUNNING'].includes(state);
}

function question({ importId, counts }: ImportResult): string {
  // An import that updates users also counts them as succeeded.
  const users = counted(counts.succeeded, 'user');
  return `Undo import ${importId} of ${users}: remove those it created, unless they have signed in or been changed since?`;
}
