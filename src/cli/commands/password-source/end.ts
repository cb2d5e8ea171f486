import { number } from '../../imports/progress.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand, YES } from '../../subcommands.ts';
import { confirm } from '../../terminal/confirm.ts';
import { SOURCE, sourcePath } from './source-option.ts';

interface Options extends CommonOptions {
  source: string;
  yes: boolean;
}

export const end = subcommand<Options>({
  command: 'end <source>',
  describe: 'end a source; users who remain get an email to choose a password',
  builder: (parser) =>
    parser
      .positional('source', SOURCE)
      .options({ yes: YES })
      .example('$0 password-sources end 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ source, yes, ...options }) {
    const { out, api } = await openSession(options);
    const { users } = await api.call<{ users: { remaining: number } }>('GET', sourcePath(source, '/status'));
    const remaining = `${number(users.remaining)} user${users.remaining === 1 ? '' : 's'}`;
    if (!yes) await confirm(out, `End source ${source}, and send an email to ${remaining}? This cannot be undone.`);
    out.result(await api.call('POST', sourcePath(source, '/_end'), { body: {} }));
    out.line(`Source ${source} has ended. ${remaining} will get an email to choose a password.`);
  },
});
