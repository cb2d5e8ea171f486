import { findOrg, type Org } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  org: string;
}

export const get = subcommand<Options>({
  command: 'get <org>',
  describe: 'show an organization',
  builder: (parser) =>
    parser
      .positional('org', { type: 'string', demandOption: true, describe: 'id, exact name or domain' })
      .example('$0 orgs get acme.example', 'by its domain'),
  async handler({ org: text, ...options }) {
    const { out, api } = await openSession(options);
    const answer = await api.call<{ org: Org & { details: { creationDate: string } } }>(
      'GET',
      '/management/v1/orgs/me',
      { org: await findOrg(api, text) },
    );
    out.result(answer);
    const { id, name, primaryDomain, details } = answer.org;
    out.table(
      ['id', id],
      [
        ['name', name],
        ['domain', primaryDomain],
        ['created', details.creationDate],
      ],
    );
  },
});
