import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

interface Clients {
  result: { clientId: string; name: string; redirectUris: string[]; grantTypes: string[]; authMethod: string }[];
}

export const list = subcommand<CommonOptions>({
  command: 'list',
  describe: 'list the registered clients',
  builder: (parser) => parser.example('$0 clients list', ''),
  async handler(options) {
    const { out, api } = await openSession(options);
    const found = await api.call<Clients>('GET', '/admin/v1/clients');
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map(({ clientId, name, authMethod, grantTypes, redirectUris }) => [
      clientId,
      name,
      authMethod,
      grantTypes.join(' '),
      redirectUris.join(' '),
    ]);
    out.table(['CLIENT ID', 'NAME', 'AUTHENTICATION', 'GRANTS', 'REDIRECT URIS'], rows);
  },
});
