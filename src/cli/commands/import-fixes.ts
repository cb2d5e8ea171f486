import type { Argv, CommandModule } from 'yargs';
import { type Causes, type FixAnswer, REMEDIES } from '../../contract/import-types.ts';
import { counted } from '../follow/progress.ts';
import { causeRow, valueText } from '../follow/result.ts';
import { type ImportOptions, importOption } from '../options.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';

const COLUMNS = ['CAUSE', 'USERS', 'FIELD', 'WHY', 'FIRST', 'REMEDIES'];

/** `muster causes`: why users failed, grouped. */
export const causes: CommandModule<CommonOptions, ImportOptions> = {
  command: 'causes <import>',
  describe: 'list why users of an import failed, with the remedies that apply',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .example('$0 causes 17', 'the most common cause first')
      .example("$0 causes 17 --json | jq '.causes[] | [.count, .message]'", 'for scripts'),
  async handler(options) {
    const { out, api } = await openSession(options);
    const found = await api.call<Causes>('GET', `/admin/v1/imports/${options.import}/causes`);
    out.result(found);
    if (out.json) return;
    if (found.causes.length > 0) out.table(COLUMNS, found.causes.map(causeRow));
    else out.line('None.');
    if (found.moreCauses > 0) out.note(`There are ${found.moreCauses} more causes, each of fewer users.`);
    if (found.corrected > 0)
      out.note(
        `${counted(found.corrected, 'user')} corrected: import them with \`muster retry ${options.import}\`, or a draft with \`muster start ${options.import}\`.`,
      );
    if (found.causes.length > 0)
      out.note(`Apply a remedy with \`muster fix ${options.import} --cause CAUSE --remedy REMEDY\`.`);
  },
};

interface Options extends ImportOptions {
  cause: string;
  remedy: string;
  domain?: string | undefined;
  dryRun?: boolean | undefined;
}

/** `muster fix`: applies a remedy to all users who failed for a cause; `muster retry` then imports them. */
export const fix: CommandModule<CommonOptions, Options> = {
  command: 'fix <import>',
  describe: 'correct all users of an import that failed for one cause',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        cause: { type: 'string', requiresArg: true, demandOption: true, describe: 'as `muster causes` lists it' },
        remedy: { choices: REMEDIES, requiresArg: true, demandOption: true, describe: 'what to do with its users' },
        domain: {
          type: 'string',
          requiresArg: true,
          describe: 'for user-name-as-email: the part of the addresses after the @',
        },
        'dry-run': {
          type: 'boolean',
          default: false,
          describe: 'only say how many users it would change, with examples',
        },
      })
      .example('$0 fix 17 --cause 5f2b8c01 --remedy trim-email --dry-run', 'says what it would change')
      .example(
        '$0 fix 17 --cause 5f2b8c01 --remedy user-name-as-email --domain acme.example',
        'makes addresses of user names',
      )
      .example('$0 fix 17 --cause 5f2b8c01 --remedy leave-out', 'skips these users'),
  async handler(options) {
    const session = await openSession(options);
    const fixed = await fixAll(session, options);
    session.out.result(fixed);
    if (!session.out.json) show(session, options, fixed);
  },
};

/** The service works for some seconds at a time, and says where to continue. */
async function fixAll({ api }: Session, { import: id, cause, remedy, domain, dryRun }: Options): Promise<FixAnswer> {
  const total: FixAnswer = { changed: 0, unchanged: 0, ...(dryRun ? { examples: [] } : {}), next: null };
  let from: number | null | undefined;
  do {
    const body = { cause, remedy, domain, dryRun, from };
    const {
      changed,
      unchanged,
      examples = [],
      next,
    } = await api.call<FixAnswer>('POST', `/admin/v1/imports/${id}/_fix`, { body });
    total.changed += changed;
    total.unchanged += unchanged;
    total.examples?.push(...examples.slice(0, 5 - total.examples.length));
    from = next;
  } while (from !== null);
  return total;
}

function show(
  { out }: Session,
  { import: id, remedy, dryRun }: Options,
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
