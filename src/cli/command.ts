/** What commands are made of: one description each, and helpers for those that list or delete. */
import type { Argv, CommandModule, InferredOptionType, Options, PositionalOptions } from 'yargs';
import type { Api } from './service/api.ts';
import { type CommonOptions, openSession, type Session } from './service/session.ts';
import { confirm } from './terminal/ask.ts';
import type { Output } from './terminal/output.ts';

type KnownOptions = Record<string, Options>;

type CamelCase<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;

/** What a person gave: each option under its name in camel case, with the type that its description says. */
export type GivenOptions<Known extends KnownOptions> = CommonOptions & {
  [Name in keyof Known as CamelCase<Name>]: InferredOptionType<Known[Name]>;
};

interface Texts<Known extends KnownOptions> {
  /** The name and the arguments: `delete <client>`. */
  usage: string;
  describe: string;
  /** Options and arguments in the order of the help; an argument has the name that `usage` gives it. */
  options?: Known;
  /** Checks of several options together. */
  check?: (parser: Argv<GivenOptions<Known>>) => unknown;
  /** Command lines with `$0` for `muster`, each with what it is for. */
  examples: readonly (readonly [line: string, what: string])[];
}

export interface Description<Known extends KnownOptions> extends Texts<Known> {
  run(session: Session, given: GivenOptions<Known>): Promise<void>;
}

/** A command as yargs takes it. Each has its own option types, known only to its description; the result erases them. */
export function command<const Known extends KnownOptions>(description: Description<Known>): CommandModule {
  const { usage, describe, options = {}, check, examples, run } = description;
  return {
    command: usage,
    describe,
    builder(parser) {
      for (const [name, option] of Object.entries<Options>(options)) {
        const isArgument = usage.includes(`<${name}>`) || usage.includes(`[${name}]`);
        if (isArgument) parser.positional(name, option as PositionalOptions);
        else parser.option(name, option);
      }
      check?.(parser as unknown as Argv<GivenOptions<Known>>);
      return parser.example(examples.map(([line, what]): [string, string] => [line, what]));
    },
    async handler(given) {
      // An argument may have the name of an option of all commands, such as `url`.
      const common = Object.entries(given).filter(([name]) => !Object.hasOwn(options, name));
      const session = await openSession(Object.fromEntries(common) as unknown as CommonOptions);
      await run(session, given as unknown as GivenOptions<Known>);
    },
  };
}

/** A command with subcommands. @param name what these manage: `users` */
export function group(name: string, describe: string, commands: readonly CommandModule[]): CommandModule {
  return {
    command: name,
    describe,
    builder(parser) {
      for (const each of commands) parser.command(each);
      return parser.demandCommand(1, 'Specify a command.').recommendCommands();
    },
    // The subcommands do the work.
    handler: () => {},
  };
}

/** The entries of an answer for people; `None.` without entries. */
export interface TableOf<Entry> {
  columns: readonly string[];
  row: (entry: Entry) => string[];
}

interface ListDescription<Known extends KnownOptions, Entry> extends Omit<Texts<Known>, 'usage'>, TableOf<Entry> {
  read(api: Api, given: GivenOptions<Known>): Promise<{ result: readonly Entry[] }>;
}

/** `list`: everything that one answer of the service holds. */
export function listCommand<Entry, const Known extends KnownOptions>({
  read,
  columns,
  row,
  ...texts
}: ListDescription<Known, Entry>): CommandModule {
  return command<Known>({
    ...texts,
    usage: 'list',
    async run({ out, api }, given) {
      const found = await read(api, given);
      out.result(found);
      showEntries(out, found.result, { columns, row });
    },
  });
}

/** Prints a table, for people. */
export function showEntries<Entry>(out: Output, entries: readonly Entry[], { columns, row }: TableOf<Entry>): void {
  if (entries.length === 0) out.line('None.');
  else out.table(columns, entries.map(row));
}

interface DeleteDescription<Known extends KnownOptions> extends Omit<Texts<Known>, 'usage'> {
  /** What is deleted, and the name of the argument: `client`. */
  what: string;
  /** Finds what the argument names, and how it is deleted. */
  target(api: Api, given: GivenOptions<Known>): Promise<{ id: string; remove: () => Promise<unknown> }>;
}

/** `delete <…>`: asks before it deletes, if the command has an option `yes`. */
export function deleteCommand<const Known extends KnownOptions>({
  what,
  target,
  ...texts
}: DeleteDescription<Known>): CommandModule {
  return command<Known>({
    ...texts,
    usage: `delete <${what}>`,
    async run({ out, api }, given) {
      const { id, remove } = await target(api, given);
      if ('yes' in given && given.yes === false) await confirm(out, `Delete ${what} ${id}? This cannot be undone.`);
      out.result(await remove());
      out.line(`${what[0]?.toUpperCase()}${what.slice(1)} ${id} is deleted.`);
    },
  });
}
