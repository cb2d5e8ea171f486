/**
 * Stops files that certainly come from another system than `--from` says: read as the wrong one, users would be
 * imported inactive, with other ids, and without their passwords and links.
 *
 * On a terminal a person is asked; elsewhere, and with `--yes`, the command is refused. `--trust-from` continues in
 * either case.
 */
import { type Contradiction, contradictionsTo, isAnybodys } from '../../sources/contradict.ts';
import { STDIN } from '../../sources/read/file.ts';
import type { Source } from '../../sources/source.ts';
import { confirm } from '../terminal/confirm.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { type Output, printable } from '../terminal/output.ts';
import { type Chosen, FORMAT_NAMES } from './choose.ts';

export interface SourceChoice {
  /** The users' files, as named on the command line; files named by `--hashes` may look like anything. */
  files: readonly string[];
  trustFrom: boolean;
  yes?: boolean | undefined;
}

/** Returns when the files may be read as exports of the source. @throws Failure (usage) */
export async function confirmSource(
  out: Output,
  { source, files, isGuess }: Chosen,
  choice: SourceChoice,
): Promise<void> {
  if (isGuess) return;
  const given = files.slice(0, choice.files.length).map(({ file }) => file);
  const found = await contradictionsTo(source, given);
  if (found.length === 0) return;
  const what = found.map((one) => sentence(source, one));
  if (choice.trustFrom || isAnybodys(source)) {
    for (const line of what) out.note(line);
    return;
  }
  const readsStdin = choice.files.includes(STDIN);
  const canAsk = choice.yes !== true && out.live && out.input.isTTY === true && !readsStdin && !out.json;
  if (canAsk)
    return confirm(out, `${what.join(' ')} Read ${found.length === 1 ? 'it' : 'them'} as ${source.title} anyway?`);
  throw new Failure(what.join('\n'), { exitCode: EXIT.usage, advice: adviceFor(source, found) });
}

function sentence(source: Source, { file, other }: Contradiction): string {
  const name = file.name === STDIN ? 'standard input' : printable(file.name);
  if (isAnybodys(source))
    return `${name} looks like an export of ${other?.title}; --from ${other?.name} knows all of its fields.`;
  if (other) return `${name} looks like an export of ${other.title}, not of ${source.title}.`;
  const formats = source.formats.map((format) => FORMAT_NAMES[format]).join(' or ');
  return `${name} is ${FORMAT_NAMES[file.format]}; exports of ${source.title} are ${formats}.`;
}

function adviceFor(source: Source, found: readonly Contradiction[]): string {
  const others = [...new Set(found.flatMap(({ other }) => other?.name ?? []))];
  const use = others.length === 1 ? `Use --from ${others[0]}` : 'Check --from';
  return `${use}. If the files are from ${source.title} after all, add --trust-from.`;
}
