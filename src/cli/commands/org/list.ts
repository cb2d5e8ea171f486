import type { Api } from '../../service/api.ts';
import type { Org } from '../../service/find-org.ts';
import { isIamOwner, type Me, readMe } from '../../service/me.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  limit: number;
}

interface Found {
  details: { totalResult: string };
  result: (Org & { roles?: string[] })[];
}

/** The largest page of the service. */
const PAGE = 1000;

export const list = subcommand<Options>({
  command: 'list',
  describe: 'list organizations: all for an IAM_OWNER, otherwise those on which you have a role',
  builder: (parser) =>
    parser
      .options({ limit: { type: 'number', requiresArg: true, default: 100, describe: 'how many to list' } })
      .check(({ limit }) => (Number.isInteger(limit) && limit > 0) || '--limit must be a whole number of at least 1.')
      .example('$0 orgs list', ''),
  async handler({ limit, ...options }) {
    const { out, api } = await openSession(options);
    const me = await readMe(api);
    const found = isIamOwner(me) ? await searchAll(api, limit) : own(me, limit);
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map((org) => [org.id, org.name, org.primaryDomain, (org.roles ?? []).join(', ')]);
    out.table(['ID', 'NAME', 'DOMAIN', isIamOwner(me) ? '' : 'YOUR ROLES'], rows);
    const left = Number(found.details.totalResult) - found.result.length;
    if (left > 0 && !out.json) out.note(`${left} more: raise --limit to see them.`);
  },
});

async function searchAll(api: Api, limit: number): Promise<Found> {
  const result: Found['result'] = [];
  for (;;) {
    const query = { offset: result.length, limit: Math.min(limit - result.length, PAGE) };
    const page = await api.call<Found>('POST', '/admin/v1/orgs/_search', { body: { query } });
    result.push(...page.result);
    if (page.result.length < query.limit || result.length >= limit) return { details: page.details, result };
  }
}

function own({ organizations }: Me, limit: number): Found {
  return { details: { totalResult: String(organizations.length) }, result: organizations.slice(0, limit) };
}
