import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { SOURCE_ORG, SOURCES_PATH } from './source-option.ts';

interface Options extends CommonOptions {
  org?: string | undefined;
}

interface Sources {
  result: { sourceId: string; name: string; kind: string; state: string; until: string | null }[];
}

export const list = subcommand<Options>({
  command: 'list',
  describe: 'list the password sources of an organization',
  builder: (parser) => parser.options({ org: SOURCE_ORG }).example('$0 password-sources list --org acme', ''),
  async handler({ org, ...options }) {
    const { out, api } = await openSession(options);
    const orgId = org === undefined ? undefined : await findOrg(api, org);
    const found = await api.call<Sources>('GET', SOURCES_PATH, { org: orgId });
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map(({ sourceId, name, kind, state, until }) => [
      sourceId,
      name,
      kind,
      stateWord(state),
      until ?? '',
    ]);
    out.table(['SOURCE ID', 'NAME', 'KIND', 'STATE', 'UNTIL'], rows);
  },
});

export function stateWord(state: string): string {
  return state.replace('PASSWORD_SOURCE_STATE_', '').toLowerCase();
}
