/** Commands with subcommands: `muster users list`. */
import type { Argv, CommandModule } from 'yargs';
import type { CommonOptions } from './service/session.ts';

export type Subcommand = CommandModule<CommonOptions, CommonOptions>;

/** @param name what the subcommands manage: `users` */
export function group(name: string, describe: string, commands: readonly Subcommand[]): Subcommand {
  return {
    command: name,
    describe,
    builder(parser: Argv<CommonOptions>) {
      for (const command of commands) parser.command(command);
      return parser.demandCommand(1, 'Specify a command.').recommendCommands();
    },
    // The subcommands do the work.
    handler: () => {},
  };
}

/** Each command has its own option type, known only to its builder and handler; the cast erases it. */
export function subcommand<Options extends CommonOptions>(command: CommandModule<CommonOptions, Options>): Subcommand {
  return command as unknown as Subcommand;
}

export const YES = { type: 'boolean', alias: 'y', default: false, describe: 'do not ask for confirmation' } as const;
