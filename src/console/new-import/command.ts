/** The import of a draft as a command line, for people who repeat it. */
import type { Plan } from './plan.ts';
import type { ShownDraft } from './shapes.ts';

const OPTION_OF_KIND = { users: undefined, hashes: '--hashes', hash_parameters: '--hash-config' } as const;

/** Never with a pepper: for it, the command asks in the terminal. */
export function commandFor({ files, source, pepper }: ShownDraft, plan: Plan): string {
  const { orgId, mapping, onExisting, mails, timeout, withoutEmail, passwordSource } = plan;
  const words = [
    ...['muster', 'import'],
    ...files.filter(({ kind }) => kind === 'users').map(({ name }) => pathOf(name)),
    ...files.flatMap(({ name, kind }) => [OPTION_OF_KIND[kind], pathOf(name)].filter(() => OPTION_OF_KIND[kind])),
    ...['--from', source],
    ...(orgId ? ['--org', orgId] : []),
    ...Object.entries(mapping).flatMap(([field, column]) => ['--map', `${field}=${column}`]),
    ...(onExisting === 'fail' ? [] : ['--on-existing', onExisting]),
    ...(withoutEmail ? ['--without-email'] : []),
    ...(passwordSource ? ['--password-source', passwordSource] : []),
    ...(pepper ? ['--pepper-mode', pepper] : []),
    ...['--mails', mails, '--timeout', timeout],
  ];
  return words.map((word) => quoted(String(word))).join(' ');
}

/** A name that begins with a dash is no option. */
function pathOf(name: string): string {
  return name.startsWith('-') ? `./${name}` : name;
}

/** As a word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
