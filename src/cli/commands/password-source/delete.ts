import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand, YES } from '../../subcommands.ts';
import { confirm } from '../../terminal/confirm.ts';
import { SOURCE, sourcePath } from './source-option.ts';

interface Options extends CommonOptions {
  source: string;
  yes: boolean;
}

export const remove = subcommand<Options>({
  command: 'delete <source>',
  describe: 'delete a source that no user needs any more',
  builder: (parser) =>
    parser
      .positional('source', SOURCE)
      .options({ yes: YES })
      .example('$0 password-sources delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ source, yes, ...options }) {
    const { out, api } = await openSession(options);
    if (!yes) await confirm(out, `Delete source ${source}? This cannot be undone.`);
    out.result(await api.call('DELETE', sourcePath(source)));
    out.line(`Source ${source} is deleted.`);
  },
});
