/** Commands that have commands of their own: `muster users list`. */
import type { Argv, CommandModule } from 'yargs';
import type { CommonOptions } from './service/session.ts';

export type Subcommand = CommandModule<CommonOptions, CommonOptions>;

/** @param name of what they are about: `users` */
export function group(name: string, describe: string, commands: readonly Subcommand[]): Subcommand {
  return {
    command: name,
    describe,
    builder(parser: Argv<CommonOptions>) {
      for (const command of commands) parser.command(command);
      return parser.demandCommand(1, 'Say what to do.').recommendCommands();
    },
    // What is there to do, a command of its own says.
    handler: () => {},
  };
}

/** Each command has options of its own, which only its builder and its handler know. */
export function subcommand<Options extends CommonOptions>(command: CommandModule<CommonOptions, Options>): Subcommand {
  return command as unknown as Subcommand;
}

export const YES = { type: 'boolean', alias: 'y', default: false, describe: 'do not ask' } as const;
