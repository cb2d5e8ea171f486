import type { Argv, CommandModule } from 'yargs';
import { type ActionOptions, act, conclude } from '../../imports/action.ts';
import type { ImportResult } from '../../imports/import-result.ts';
import { counted, number } from '../../imports/progress.ts';
import { importOption, WATCH } from '../../options.ts';
import { type CommonOptions, openSession, type Session } from '../../service/session.ts';
import { confirm } from '../../terminal/confirm.ts';

interface Options extends ActionOptions {
  yes?: boolean | undefined;
  dryRun?: boolean | undefined;
}

/** The answer of `undo_preview`. */
interface Preview {
  removed: number;
  kept: number;
  reasons: { reason: string; users: number }[];
}

/** `muster undo`: removes the users that an import created; asks first. */
export const undo: CommandModule<CommonOptions, Options> = {
  command: 'undo <import>',
  describe: 'remove the users that an import created, except those who have signed in or been changed since',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        yes: { type: 'boolean', alias: 'y', default: false, describe: 'do not ask for confirmation' },
        'dry-run': { type: 'boolean', default: false, describe: 'only say how many users would be removed and kept' },
        watch: WATCH,
      })
      .example('$0 undo 17 --dry-run', 'says how many users it would remove and keep, and why')
      .example('$0 undo 17', 'says how many users it removes, and asks')
      .example('$0 undo 17 --yes --watch', 'for scripts: ends when all of them are removed'),
  async handler(options) {
    const session = await openSession(options);
    const preview = () => session.api.call<Preview>('GET', `/admin/v1/imports/${options.import}/undo_preview`);
    if (options.dryRun) return showPreview(session, options.import, await preview());
    const now = await session.api.call<ImportResult>('GET', `/admin/v1/imports/${options.import}`);
    if (!options.yes && removesUsers(now))
      await confirm(session.out, `Undo import ${options.import}: ${will(await preview())}?`);
    await conclude(session, await act(session, options.import, '_undo'), options, 'IMPORT_STATE_UNDONE');
  },
};

/** When it does not, the service refuses and says why. */
function removesUsers({ dryRun, state }: ImportResult): boolean {
  return !dryRun && !['IMPORT_STATE_UNDOING', 'IMPORT_STATE_UNDONE', 'IMPORT_STATE_RUNNING'].includes(state);
}

function showPreview({ out }: Session, importId: string, preview: Preview): void {
  out.result(preview);
  out.line(`An undo of import ${importId} would ${will(preview)}.`);
}

/** `remove 3 users, keep 2 (1 signed in, 1 changed)` */
function will({ removed, kept, reasons }: Preview): string {
  const why = reasons.map(({ reason, users }) => `${number(users)} ${reason.toLowerCase().replaceAll('_', ' ')}`);
  return `remove ${counted(removed, 'user')}, keep ${number(kept)}${kept > 0 ? ` (${why.join(', ')})` : ''}`;
}
