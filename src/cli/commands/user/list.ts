import type { Argv } from 'yargs';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { searchUsers, USER_COLUMNS, userRow } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  org?: string | undefined;
  state?: string | undefined;
  limit: number;
  offset: number;
}

const isCount = (n: number, least: number) => Number.isInteger(n) && n >= least;

export const list = subcommand<Options>({
  command: 'list',
  describe: 'list users, ordered by name',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .options({
        org: { type: 'string', requiresArg: true, describe: 'only users of this organization: id, name or domain' },
        state: {
          choices: ['active', 'inactive', 'locked', 'initial'],
          requiresArg: true,
          describe: 'only users in this state',
        },
        limit: { type: 'number', requiresArg: true, default: 50, describe: 'how many to list' },
        offset: { type: 'number', requiresArg: true, default: 0, describe: 'how many to skip first' },
      })
      .check(({ limit }) => isCount(limit, 1) || '--limit must be a whole number of at least 1.')
      .check(({ offset }) => isCount(offset, 0) || '--offset must be a whole number of at least 0.')
      .example('$0 users list --org acme --state locked', 'users that are locked')
      .example('$0 users list --limit 1 --json | jq -r .details.totalResult', 'how many there are'),
  async handler({ org, state, limit, offset, ...options }) {
    const { out, api } = await openSession(options);
    const queries = [
      ...(org ? [{ organizationIdQuery: { organizationId: await findOrg(api, org) } }] : []),
      ...(state ? [{ stateQuery: { state: `USER_STATE_${state.toUpperCase()}` } }] : []),
    ];
    const found = await searchUsers(api, queries, limit, offset);
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    out.table(USER_COLUMNS, found.result.map(userRow));
    const { totalResult, totalIsEstimate } = found.details;
    const left = Number(totalResult) - offset - found.result.length;
    if (left > 0 && !out.json)
      out.note(
        `${totalIsEstimate ? 'About ' : ''}${left} more: raise --limit, or use --offset ${offset + found.result.length}.`,
      );
  },
});
