import type { Argv, CommandModule } from 'yargs';
import { PULL_SYSTEMS } from '../../sources/pull/registry.ts';
import type { PullSystem } from '../../sources/pull/system.ts';
import { group } from '../command.ts';
import type { PullOptions } from '../pull/options.ts';
import { openSession } from '../service/session.ts';

/** `muster pull`: reads users from a running system, and imports or saves them. One subcommand for each system. */
export const pull = group('pull', 'import users straight from a running system', PULL_SYSTEMS.map(commandOf));

function commandOf(system: PullSystem): CommandModule {
  return {
    command: system.name,
    describe: system.describe,
    // The sources are loaded only when needed: other commands should start fast.
    builder: (async (yargs: Argv) => {
      const { pullOptions } = await import('../pull/options.ts');
      return pullOptions(yargs, system);
    }) as unknown as (yargs: Argv) => Argv,
    async handler(given) {
      const options = given as unknown as PullOptions;
      const { runPull } = await import('../pull/run.ts');
      await runPull(await openSession(options), system, options);
    },
  };
}
