import type { Argv, CommandModule } from 'yargs';
import type { Causes } from '../../../imports/answers.ts';
import { causeRow } from '../../imports/causes.ts';
import { counted } from '../../imports/progress.ts';
import { type ImportOptions, importOption } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

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
