import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  name: string;
  id?: string | undefined;
  domain?: string | undefined;
}

export const create = subcommand<Options>({
  command: 'create <name>',
  describe: 'create an organization (IAM_OWNER)',
  builder: (parser) =>
    parser
      .positional('name', { type: 'string', demandOption: true, describe: 'display name' })
      .options({
        id: { type: 'string', requiresArg: true, describe: 'id that imports use (default: generated)' },
        domain: {
          type: 'string',
          requiresArg: true,
          describe: 'domain of its login names (default: derived from the name)',
        },
      })
      .example("$0 orgs create 'Acme Ltd' --id acme", ''),
  async handler({ name, id, domain, ...options }) {
    const { out, api } = await openSession(options);
    const body = { name, orgId: id, domain };
    const created = await api.call<{ id: string }>('POST', '/management/v1/orgs', { body });
    out.result(created);
    out.line(created.id);
    if (!out.json) out.note(`Organization ${name} was created. To import its users, use --org ${created.id}.`);
  },
});
