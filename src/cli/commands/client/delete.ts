import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand, YES } from '../../subcommands.ts';
import { confirm } from '../../terminal/confirm.ts';

interface Options extends CommonOptions {
  client: string;
  yes: boolean;
}

export const remove = subcommand<Options>({
  command: 'delete <client>',
  describe: 'delete a client; nobody can log in through it, and its tokens end',
  builder: (parser) =>
    parser
      .positional('client', { type: 'string', demandOption: true, describe: 'client id, as `clients list` shows it' })
      .options({ yes: YES })
      .example('$0 clients delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ client, yes, ...options }) {
    const { out, api } = await openSession(options);
    if (!yes) await confirm(out, `Delete client ${client}? This cannot be undone.`);
    out.result(await api.call('DELETE', `/admin/v1/clients/${encodeURIComponent(client)}`));
    out.line(`Client ${client} is deleted.`);
  },
});
