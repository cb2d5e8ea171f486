import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { stateWord } from './list.ts';
import { SOURCE, sourcePath } from './source-option.ts';

interface Options extends CommonOptions {
  source: string;
}

interface Shown {
  passwordSource: {
    name: string;
    kind: string;
    state: string;
    settings: Record<string, unknown>;
    userName: string;
    timeoutMs: number;
    checksPerSecond: number;
    until: string | null;
    endDate: string | null;
  };
}

export const show = subcommand<Options>({
  command: 'show <source>',
  describe: 'show the settings of a password source, without its secrets',
  builder: (parser) =>
    parser.positional('source', SOURCE).example('$0 password-sources show 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', ''),
  async handler({ source, ...options }) {
    const { out, api } = await openSession(options);
    const found = await api.call<Shown>('GET', sourcePath(source));
    out.result(found);
    const { state, settings, until, endDate, name, kind, userName, timeoutMs, checksPerSecond } = found.passwordSource;
    const lines = {
      ...{ name, kind, state: stateWord(state), 'user name': userName },
      ...settings,
      ...{ 'time limit': `${timeoutMs} ms`, 'checks a second': checksPerSecond },
      ...(until === null ? {} : { until }),
      ...(endDate === null ? {} : { ended: endDate }),
    };
    for (const [label, value] of Object.entries(lines)) out.line(`${label.padEnd(16)} ${value}`);
  },
});
