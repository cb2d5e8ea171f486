import { number } from '../../imports/progress.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { stateWord } from './list.ts';
import { SOURCE, sourcePath } from './source-option.ts';

interface Options extends CommonOptions {
  source: string;
}

interface Progress {
  state: string;
  users: { remaining: number; migrated: number };
  perDay: { date: string; migrated: number }[];
}

export const status = subcommand<Options>({
  command: 'status <source>',
  describe: 'show how many users were migrated, on which days, and how many remain',
  builder: (parser) =>
    parser.positional('source', SOURCE).example('$0 password-sources status 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', ''),
  async handler({ source, ...options }) {
    const { out, api } = await openSession(options);
    const progress = await api.call<Progress>('GET', sourcePath(source, '/status'));
    out.result(progress);
    const { state, users, perDay } = progress;
    out.line(`${stateWord(state)}: ${number(users.migrated)} migrated, ${number(users.remaining)} remain`);
    if (perDay.length === 0) return;
    out.table(
      ['DAY (UTC)', 'MIGRATED'],
      perDay.map(({ date, migrated }) => [date, number(migrated)]),
    );
  },
});
