/** Commands about users that failed: the causes, and a correction of all users of one cause. */
import type { Answer } from '../../contract/client.ts';
import { REMEDIES } from '../../contract/remedies.ts';
import { command, type GivenOptions, showEntries } from '../command.ts';
import { counted } from '../follow/progress.ts';
import { causeRow, valueText } from '../follow/result.ts';
import { flag, IMPORT, text } from '../options.ts';
import type { Session } from '../service/session.ts';

const COLUMNS = ['CAUSE', 'USERS', 'FIELD', 'WHY', 'FIRST', 'REMEDIES'];

/** `muster causes`: why users failed, grouped. */
export const causes = command({
  usage: 'causes <import>',
  describe: 'list why users of an import failed, with the remedies that apply',
  options: { import: IMPORT },
  examples: [
    ['$0 causes 17', 'the most common cause first'],
    ["$0 causes 17 --json | jq '.causes[] | [.count, .message]'", 'for scripts'],
  ],
  async run({ out, api }, { import: id }) {
    const found = await api.call('listImportCauses', { importId: id });
    out.result(found);
    if (out.json) return;
    showEntries(out, found.causes, { columns: COLUMNS, row: causeRow });
    if (found.moreCauses > 0) out.note(`There are ${found.moreCauses} more causes, each of fewer users.`);
    if (found.corrected > 0) {
      const commands = `\`muster retry ${id}\`, or a draft with \`muster start ${id}\``;
      out.note(`${counted(found.corrected, 'user')} corrected: import them with ${commands}.`);
    }
    if (found.causes.length > 0) out.note(`Apply a remedy with \`muster fix ${id} --cause CAUSE --remedy REMEDY\`.`);
  },
});

const FIX_OPTIONS = {
  import: IMPORT,
  cause: { ...text('as `muster causes` lists it'), demandOption: true },
  remedy: { choices: REMEDIES, requiresArg: true, demandOption: true, describe: 'what to do with its users' },
  domain: text('for user-name-as-email: the part of the addresses after the @'),
  'dry-run': flag('only say how many users it would change, with examples'),
} as const;

type Fix = GivenOptions<typeof FIX_OPTIONS>;
type FixAnswer = Answer<'fixImport'>;

/** `muster fix`: applies a remedy to all users who failed for a cause; `muster retry` then imports them. */
export const fix = command({
  usage: 'fix <import>',
  describe: 'correct all users of an import that failed for one cause',
  options: FIX_OPTIONS,
  examples: [
    ['$0 fix 17 --cause 5f2b8c01 --remedy trim-email --dry-run', 'says what it would change'],
    ['$0 fix 17 --cause 5f2b8c01 --remedy user-name-as-email --domain acme.example', 'makes addresses of user names'],
    ['$0 fix 17 --cause 5f2b8c01 --remedy leave-out', 'skips these users'],
  ],
  async run(session, given) {
    const fixed = await fixAll(session, given);
    session.out.result(fixed);
    if (!session.out.json) show(session, given, fixed);
  },
});

const MOST_EXAMPLES = 5;

/** The service works for some seconds at a time, and says where to continue. */
async function fixAll({ api }: Session, { import: importId, cause, remedy, domain, dryRun }: Fix): Promise<FixAnswer> {
  const total: FixAnswer = { changed: 0, unchanged: 0, ...(dryRun ? { examples: [] } : {}), next: null };
  let from: number | undefined;
  do {
    const body = { cause, remedy, domain, dryRun, from };
    const part = await api.call('fixImport', { importId }, { body });
    total.changed += part.changed;
    total.unchanged += part.unchanged;
    total.examples?.push(...(part.examples ?? []).slice(0, MOST_EXAMPLES - total.examples.length));
    from = part.next ?? undefined;
  } while (from !== undefined);
  return total;
}

function show(
  { out }: Session,
  { import: id, remedy, dryRun }: Fix,
  { changed, unchanged, examples = [] }: FixAnswer,
): void {
  const isLeftOut = remedy === 'leave-out' || remedy === 'keep-first';
  const done = isLeftOut ? 'left out' : 'corrected';
  out.line(`${counted(changed, 'user')} ${dryRun ? 'would be ' : ''}${done}; ${unchanged} stay as they are.`);
  for (const { index, userName, userId, before, after } of examples) {
    const change = isLeftOut ? '' : `: ${valueText(before)} becomes ${valueText(after)}`;
    out.line(`  ${index}  ${userName || userId || '(no name)'}${change}`);
  }
  if (!dryRun && !isLeftOut && changed > 0)
    out.note(`Import them with \`muster retry ${id} --timeout 30m\`, or a draft with \`muster start ${id}\`.`);
}
