import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Argv, CommandModule } from 'yargs';
import { itemPages, pagesAsJson, pagesAsTable } from '../../imports/item-pages.ts';
import { type ImportOptions, importOption, itemState, STATE } from '../../options.ts';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

interface Options extends ImportOptions {
  state?: string | undefined;
  org?: string | undefined;
  user?: string | undefined;
  query?: string | undefined;
  limit: number;
  all?: boolean | undefined;
  pageToken?: string | undefined;
}

/** `muster items`: the outcome for each user, fetched page by page as it is printed. */
export const items: CommandModule<CommonOptions, Options> = {
  command: 'items <import>',
  describe: 'list the users of an import and the outcome for each',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        state: STATE,
        org: { type: 'string', requiresArg: true, describe: 'only users of this organization: id, name or domain' },
        user: { type: 'string', requiresArg: true, describe: 'only the user with this id' },
        query: { type: 'string', requiresArg: true, describe: 'only users whose address, name or id begins with this' },
        limit: { type: 'number', requiresArg: true, default: 50, describe: 'how many to list' },
        all: { type: 'boolean', default: false, describe: 'list all of them' },
        'page-token': { type: 'string', requiresArg: true, describe: 'continue where a previous list ended' },
      })
      .check(({ limit }) => (Number.isInteger(limit) && limit > 0) || '--limit must be a whole number of at least 1.')
      .example('$0 items 17 --state failed', 'users that failed, and why')
      .example("$0 items 17 --user 'auth0|60425dc4'", 'one user')
      .example('$0 items 17 --state failed --all --json | jq -r .items[].userId', 'ids of all users that failed'),
  async handler(options) {
    const { out, api } = await openSession(options);
    const orgId = options.org === undefined ? undefined : await findOrg(api, options.org);
    const query = { state: itemState(options.state), orgId, userId: options.user, query: options.query };
    const most = options.all ? Number.POSITIVE_INFINITY : options.limit;
    const pages = itemPages(api, options.import, query, most, options.pageToken);
    const more = (next: string) => out.note(`There are more: add --page-token ${next}, or --all.`);
    const text = out.json ? pagesAsJson(pages) : pagesAsTable(pages, more);
    await pipeline(Readable.from(text), out.stream, { end: false });
  },
};
