/** `muster pull`: reads users from a running system, and imports or saves them. One subcommand for each system. */
import type { Argv, CommandModule } from 'yargs';
import { PULL_SYSTEMS } from '../../pull/registry.ts';
import type { PullSystem } from '../../pull/system.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { group, subcommand } from '../subcommands.ts';
import type { PullOptions } from './options.ts';

interface Options extends CommonOptions, PullOptions {}

export const pull = group(
  'pull',
  'import users straight from a running system',
  PULL_SYSTEMS.map((system) => subcommand(commandOf(system))),
);

function commandOf(system: PullSystem): CommandModule<CommonOptions, Options> {
  return {
    command: system.name,
    describe: system.describe,
    // The sources are loaded only when needed: other commands should start fast.
    builder: (async (yargs: Argv) => {
      const { pullOptions } = await import('./options.ts');
      return pullOptions(yargs, system);
    }) as unknown as (yargs: Argv<CommonOptions>) => Argv<Options>,
    async handler(options) {
      const { runPull } = await import('./run.ts');
      await runPull(await openSession(options), system, options);
    },
  };
}
